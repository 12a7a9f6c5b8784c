

# ---- frames of languages (commands_bt.py) ----

try:
    _said('help hindsight')
except gdb.error:
    gdb.execute('define-prefix hindsight')


@_command('hindsight bt', gdb.COMMAND_STACK)
def _merged(arg):
    """Print the stack of the selected thread: native frames and those of Lua, Python and JavaScript.
Usage: hindsight bt [-l] [-g] [-a] [N]
-l prints the variables of each frame of Lua and Python, too.
-g leaves out native frames, -a also prints those of the interpreter.
With N, only frame N of that list."""
    gdb.write(_printable(_ask('bt ' + arg)))
