# commands.py - what replay adds to gdb.  It is built into replay (commands.S) and loaded by gdb at its start.
#
# The work is done by the server: `monitor' commands (gdbserver/monitor.c).  One that moves is only prepared there; the step
# that follows does it, so that gdb, its front ends and breakpoint lists see an ordinary stop.  It is a step backwards: forwards
# gdb may be stepping off a breakpoint, and cannot bear to find itself in another thread then.
import atexit
import bisect
import ctypes
import gdb
import gdb.unwinder
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time


def _text(e):
    """What gdb had to say when Python took it for no text: such bytes become what Python's os makes of them."""
    return e.object.decode('utf-8', 'surrogateescape')


def _said(command):
    """What gdb says to a command."""
    try:
        return gdb.execute(command, to_string=True)
    except UnicodeEncodeError:          # a path that is no text
        with tempfile.NamedTemporaryFile('wb') as script:
            script.write(command.encode('utf-8', 'surrogateescape') + b'\n')
            script.flush()
            return _said('source ' + script.name)
    except UnicodeDecodeError as e:
        return _text(e)


def _file_name(file):
    """Of an object file, a program or a symbol table."""
    try:
        return file.filename
    except UnicodeDecodeError as e:
        return _text(e)


def _printable(text):
    """Fit to be written by gdb."""
    return text.encode('utf-8', 'surrogateescape').decode('utf-8', 'backslashreplace')


def _ask(command):
    """What the server answers; its errors are ours."""
    try:
        said = _said('monitor ' + command)
    except gdb.error:
        raise gdb.GdbError('The program is not being replayed; start replay again.')
    if said.startswith('error: '):
        raise gdb.GdbError(_printable(said[len('error: '):].strip()))
    return said


def _go(command):
    _ask(command)
    _to_living()
    gdb.execute('reverse-stepi')
    _ask('went')


def _to_living():
    """From a process that has ended, where gdb leaves its user, to one that can go on: says what gdb says to `inferior N'."""
    if gdb.selected_inferior().pid:
        return ''
    for inferior in gdb.inferiors():
        if inferior.pid and inferior.threads():
            return _said('inferior %d' % inferior.num)
    return ''


class _Command(gdb.Command):
    """One function as a command; its documentation is `help'."""

    def __init__(self, run, name, kind, completer, complete):
        self.__doc__ = run.__doc__
        self.run = run
        if complete:
            self.complete = lambda text, word: [c for c in complete() if c.startswith(word)]
        if completer is None:
            super().__init__(name, kind)
        else:
            super().__init__(name, kind, completer)

    def invoke(self, arg, from_tty):
        self.dont_repeat()
        try:
            self.run(arg.strip())
        except gdb.GdbError:
            raise
        except gdb.error as e:      # one line, without Python's
            raise gdb.GdbError(str(e))


def _command(name, kind=gdb.COMMAND_RUNNING, completer=gdb.COMPLETE_NONE, complete=None):
    def add(run):
        _Command(run, name, kind, None if complete else completer, complete)
        return run
    return add


def _nothing(arg, name):
    if arg:
        raise gdb.GdbError('%s takes no argument.' % name)


# ---- where and when ----

@_command('when', gdb.COMMAND_STATUS)
def _when(arg):
    """Say where in the recording this is: event, thread, position.
A position is good for `seek' and for `replay -e', in this session and in others."""
    _nothing(arg, 'when')
    gdb.write(_printable(_ask('when')))


@_command('elapsed', gdb.COMMAND_STATUS)
def _elapsed(arg):
    """Say how long after the start of the recording this point is."""
    _nothing(arg, 'elapsed')
    gdb.write(_printable(_ask('elapsed')))


@_command('real-tid', gdb.COMMAND_STATUS)
def _real_tid(arg):
    """Say the number of the selected thread as the kernel gave it when it was recorded."""
    _nothing(arg, 'real-tid')
    gdb.write(_printable(_ask('real-tid')))


@_command('seek')
def _seek(arg):
    """Go to a point in the recording.
Usage: seek EVENT      to after this event (`hindsight dump' lists them)
       seek POSITION   to what `when' called so
       seek end"""
    if not arg:
        raise gdb.GdbError('seek EVENT, seek POSITION (`when\' prints both), or seek end.')
    _go('seek ' + arg)
    last = re.match(r'event (\d+)', _ask('when'))
    if last and arg.isdigit() and int(arg) > int(last.group(1)):
        gdb.write('There is no event %s: the recording ends at %s.\n' % (arg, last.group(1)))


@_command('maintenance hindsight-recorded', gdb.COMMAND_MAINTENANCE)
def _recorded(arg):
    """Refuse gdb's own recording: it would run the replay step by step, and go back in that alone."""
    raise gdb.GdbError('This is a recording already: reverse-continue and the like go back in it.')


for _name in ('hook-record', 'record hook-full', 'record hook-btrace', 'record btrace hook-bts', 'record btrace hook-pt',
              'target hook-record-full', 'target hook-record-btrace'):
    gdb.execute('define %s\nmaintenance hindsight-recorded\nend' % _name)


# ---- the end of one process of several ----

@_command('maintenance hindsight-living', gdb.COMMAND_MAINTENANCE)
def _living(arg):
    """Select a process that is there, if the selected one has ended."""
    gdb.write(_printable(_to_living()))


# after these commands only, as gdb has no event for the end of a move that ended a process; a user's hooks are left alone
for _name in ('continue', 'step', 'next', 'stepi', 'nexti', 'until', 'advance', 'finish'):
    try:
        _said('show user hookpost-' + _name)
    except gdb.error:
        gdb.execute('define hookpost-%s\nmaintenance hindsight-living\nend' % _name)


# ---- checkpoints, with the names gdb has for its own ----

def _numbers():
    return [line.split()[0] for line in _ask('info checkpoints').splitlines() if line[:1].isdigit()]


@_command('checkpoint')
def _checkpoint(arg):
    """Keep this point in time, to come back to it with `restart'."""
    _nothing(arg, 'checkpoint')
    gdb.write(_printable(_ask('checkpoint')))


@_command('restart', complete=_numbers)
def _restart(arg):
    """Go to a checkpoint, or to the beginning.
Usage: restart [N]
N is the number of a checkpoint; without it, the recording starts from the beginning."""
    _go('restart ' + arg)


@_command('info checkpoints', gdb.COMMAND_STATUS)
def _info_checkpoints(arg):
    """List the checkpoints made with `checkpoint'."""
    _nothing(arg, 'info checkpoints')
    gdb.write(_printable(_ask('info checkpoints')))


@_command('delete checkpoint', complete=_numbers)
def _delete_checkpoint(arg):
    """Forget a checkpoint.
Usage: delete checkpoint N"""
    _ask('delete checkpoint ' + arg)


@_command('run')
def _run(arg):
    """Replay from the beginning.  Arguments and input are those of the recording.
Breakpoints stay, and the program goes on until one is hit."""
    if arg:
        raise gdb.GdbError('run takes no argument here: the program has those it was recorded with.')
    _go('restart')
    gdb.execute('continue')


@_command('starti')
def _starti(arg):
    """Replay from the beginning, and stop at the first instruction."""
    _nothing(arg, 'starti')
    _go('restart')


@_command('start')
def _start(arg):
    """Replay from the beginning, and stop in main."""
    _nothing(arg, 'start')
    gdb.execute('tbreak main')
    _go('restart')
    gdb.execute('continue')


_passing = None          # is this stop a place on the way, and none for the user?


# ---- places visited ----

@_command('back')
def _back(arg):
    """Go to the place where the program was stopped before, like a browser's button.
Usage: back [N]
Every stop is a place, wherever in time it was; `forward' goes the other way."""
    _go('back ' + arg)


@_command('forward')
def _forward(arg):
    """Go to the place from which `back' came.
Usage: forward [N]"""
    _go('forward ' + arg)


# ---- memory ----

def _in_memory(arg):
    if not arg:
        raise gdb.GdbError('last EXPR: of which variable, field or *pointer?')
    if arg.startswith('-l '):
        arg = arg[3:].strip()
    value = gdb.parse_and_eval(arg)
    try:
        address = value.address if not value.is_optimized_out else None
    except gdb.error as e:          # a bit field
        raise gdb.GdbError('last %s: %s' % (arg, e))
    if address is None:
        raise gdb.GdbError('last %s: that is in no memory (a register, or a computed value), so nobody wrote it there.' % arg)
    return arg, value, int(address), value.dynamic_type.sizeof if value.type.sizeof == 0 else value.type.sizeof


def _shown(value):
    text = value.format_string(max_elements=16, repeat_threshold=4)
    return text if len(text) <= 200 else text[:200] + '...'


@_command('last', gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)
def _last(arg):
    """Go back to where EXPR was changed last, just before that instruction.
Usage: last EXPR
EXPR is something in memory: a variable, local or global, a field, an element, *POINTER.
Writes of the value that is there already do not count."""
    arg, value, address, size = _in_memory(arg)
    try:
        new = _shown(value)
    except gdb.error as e:
        raise gdb.GdbError('last %s: %s' % (arg, e))
    kind = value.type
    _go('last 0x%x %d' % (address & (1 << 64) - 1, size))
    try:
        who = _ask('last-was').strip()
    except gdb.GdbError as e:
        raise gdb.GdbError('%s: %s; this is where you were.' % (arg, e))
    try:
        old = _shown(gdb.Value(gdb.selected_inferior().read_memory(address, size).tobytes(), kind))
    except (gdb.error, TypeError, ValueError):
        old = '?'
    gdb.write('%s became %s here, was %s; by %s\n' % (arg, new, old, who))


@_command('find-pointer', gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)
def _find_pointer(arg):
    """List everything that holds VALUE: registers, stacks, variables, heap blocks.
Usage: find-pointer [-u] [-s SIZE] VALUE
-u  at unaligned addresses, too
-s  any value from VALUE to VALUE + SIZE - 1, such as pointers into a block"""
    flags, rest = [], arg
    while rest.startswith('-'):
        words = rest.split(None, 1)
        if words[0] == '-u' and len(words) == 2:
            flags.append('-u')
            rest = words[1]
        elif words[0] == '-s' and len(rest.split(None, 2)) == 3:
            size = rest.split(None, 2)[1]
            flags.append('-s %d' % int(gdb.parse_and_eval(size)))
            rest = rest.split(None, 2)[2]
        elif words[0] in ('-u', '-s'):
            rest = ''
        else:
            break
    if not rest:
        raise gdb.GdbError('find-pointer [-u] [-s SIZE] VALUE: which value?')
    value = gdb.parse_and_eval(rest)
    code = value.type.strip_typedefs().code
    if code in (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and value.address is not None:
        value = value.address
    try:
        number = int(value)
    except (gdb.error, TypeError, ValueError, OverflowError):
        raise gdb.GdbError('find-pointer: %s is no address.' % rest)
    gdb.write(_printable(_ask('find-pointer %s 0x%x' % (' '.join(flags), number & (1 << 64) - 1))))


# ---- every stop ----

_sysroot = ''            # 'target:' when gdb has files from the trace, '' when they are where they were (local.c)


def _seen(name):
    """The path the program saw."""
    return name[len('target:'):] if name and name.startswith('target:') else name


_programs = {}           # inferior: the program it ran at the last stop


def _reload(path):
    """Going back over an exec, or elsewhere: the program that runs here has other symbols."""
    number = gdb.selected_inferior().num
    before = _programs.get(number, path)
    _programs[number] = path
    if not path or path == before or path == _seen(_file_name(gdb.current_progspace())):
        return          # in particular, a user's `file' stays
    _said('file')
    _say(_said('file "%s%s"' % (_sysroot, path)))
    _said('sharedlibrary')
    gdb.write('The program is %s here.\n' % _printable(path))
    gdb.execute('frame')


def _libraries():
    nameless = gdb.newest_frame().name() is None        # and has been printed so
    _said('sharedlibrary')
    if nameless and gdb.newest_frame().name():
        gdb.execute('frame')


def _forget(pid):
    """A process that has not been forked yet, where this is.  While gdb has it, its fork is no stop; for those who catch forks gdb
lets go of it.  Its fork, or a jump into its time, brings it back."""
    there = [i for i in gdb.inferiors() if i.pid]
    if len(there) > 1 and re.search(r'^\d+ +catchpoint .* v?fork', _said('info breakpoints'), re.MULTILINE):
        for inferior in there:
            if inferior.pid == pid:
                _said('detach inferiors %d' % inferior.num)


_pids = {}               # inferior: its process


def _on_inferior(event):
    """gdb empties its cache of memory when it lets a program go on: that of the selected inferior, not those of others that go, too."""
    gdb.execute('set stack-cache off')
    gdb.execute('set code-cache off')


def _on_thread(event):
    """A process that had ended is there again, since time went back: gdb takes any empty inferior, which may have had another program."""
    inferior = event.inferior_thread.inferior if event.inferior_thread else None
    if inferior is None or _pids.get(inferior.num) == inferior.pid:
        return
    _pids[inferior.num] = inferior.pid
    if inferior.num != gdb.selected_inferior().num:
        return              # forked, and gdb knows all about it
    try:
        _said('unset tdesc filename')     # ask for it
        event.inferior_thread.switch()
        path = _said('monitor exe %d' % inferior.pid).rstrip('\n')
        if path and path != _seen(_file_name(inferior.progspace)):
            _said('file "%s%s"' % (_sysroot, path))
        _programs[inferior.num] = path
        _said('set solib-search-path ' + (gdb.parameter('solib-search-path') or ''))  # look where the program lies
    except gdb.error:
        pass


def _on_stop(event):
    global _resumed, _execed
    if _passing and _passing():
        return
    if _execed:
        _re_enable(False)
    _resumed = _execed = False
    try:
        path, *more = _said('monitor place').splitlines()
        for line in more:
            name, _, value = line.partition(' ')
            if name == 'libraries':     # come to, or gone from, without the loader's telling: where the recording begins
                _libraries()
            elif name == '_gone':
                _forget(int(value))
            else:                       # of the recording: "_exitcode 3" or "_exitsignal 11"
                gdb.set_convenience_variable(name, int(value))
        _reload(path)
    except gdb.error:
        pass


_enabled = []            # the numbers of enabled breakpoints when the program was last resumed by its user
_resumed = False
_execed = False          # since then


def _for_threads():
    """Where there are breakpoints for some threads only: " ADDRESS:THREAD,THREAD"..."""
    points = [b for b in gdb.breakpoints() if b.enabled and hasattr(b, 'locations')]
    if not any(b.thread for b in points):
        return ''
    tids = {t.global_num: t.ptid[1] for i in gdb.inferiors() for t in i.threads()}
    only, others = {}, set()
    for b in points:
        for place in b.locations or ():
            if not place.enabled or place.address is None:
                continue
            if b.thread in tids:
                only.setdefault(place.address, []).append('%d' % tids[b.thread])
            else:
                others.add(place.address)
    return ''.join(' %x:%s' % (a, ','.join(t)) for a, t in only.items() if a not in others)


def _on_a_breakpoint():
    pc = gdb.selected_frame().pc()
    return any(place.address == pc for b in gdb.breakpoints() if b.enabled for place in getattr(b, 'locations', None) or ())


def _minds_libraries():
    """Does the user want to see each loading of a library on the way back, too?"""
    def minds(b):
        if b.type == getattr(gdb, 'BP_CATCHPOINT', None):
            return re.search('(un)?load of ', _said('info breakpoints %d' % b.number))
        return re.match(r'\*|.*(_dl_debug_state|dl-debug)', b.location or '')     # what may be gdb's own place for it
    return gdb.parameter('stop-on-solib-events') or any(b.enabled and b.visible and minds(b) for b in gdb.breakpoints())


def _on_resume(event):
    global _enabled, _resumed
    if not _resumed:
        _resumed = True
        _enabled = [b.number for b in gdb.breakpoints() if b.enabled]
        if gdb.selected_thread() is not None:
            locking = '+' if gdb.parameter('scheduler-locking') in ('on', 'step') else ''
            over = '!' if _on_a_breakpoint() else ''
            minds = '*' if _minds_libraries() else ''
            _said('monitor thread %d%s%s%s%s%s' % (gdb.selected_thread().ptid[1], locking, over, minds, _jit_flags(), _for_threads()))
            _conditions_told()


def _re_enable(known):
    """gdb disables breakpoints of which a program, after an exec, does not know the place; another one may."""
    for b in gdb.breakpoints():
        if b.enabled or not b.location or b.number not in _enabled:
            continue
        try:
            if known:
                gdb.decode_line(b.location)
            b.enabled = True
        except gdb.error:
            pass


_asleep = []             # catchpoints for exceptions that we have disabled


def _on_free(event):
    """
    A place of `catch throw' is a probe of libstdc++; gdb 13 keeps it when the library goes, as it does on the way back to the
    beginning, and crashes when it takes the breakpoint out.  So that goes first; it is back with the library.
    """
    if 'libstdc++' not in (_file_name(event.objfile) or ''):
        return
    for b in gdb.breakpoints():
        if b.type == gdb.BP_CATCHPOINT and b.enabled and ' exception ' in _said('info breakpoints %d' % b.number):
            b.enabled = False
            _asleep.append(b)


def _wake():
    for b in _asleep:
        if b.is_valid():
            b.enabled = True
    _asleep.clear()


def _on_objfile(event):
    """Breakpoints it may have places of, and pretty-printers that gdb would load by itself, were the file where it is on this machine."""
    global _execed
    _execed = _execed or _file_name(event.new_objfile) == _file_name(gdb.current_progspace())
    if _execed:
        _re_enable(True)
    if 'libstdc++' in _file_name(event.new_objfile):
        _wake()
    path = _seen(_file_name(event.new_objfile))
    if not path or path == _file_name(event.new_objfile):
        return
    for base in gdb.PYTHONDIR + '/../auto-load', '/usr/share/gdb/auto-load':
        for name in path, os.path.realpath(path):
            script = os.path.normpath(base + name + '-gdb.py')
            if script not in _loaded and os.path.isfile(script):
                _loaded.add(script)
                sys.path.extend(d for d in glob.glob('/usr/share/gcc*/python') if d not in sys.path)
                gdb.execute('source ' + script)


_loaded = set()


# ---- the beginning ----

def _say(text):
    """Without what gdb says about each file it asks for."""
    for line in text.splitlines():
        if line.startswith('('):        # "(No debugging symbols found in target:/bin/ls)"
            gdb.write(_printable(line).replace('target:', '') + '\n')


def _connect(socket, sysroot):
    global _sysroot
    _sysroot = sysroot if sysroot == 'target:' else ''
    # whatever .gdbinit has set
    for setting in ('confirm off', 'non-stop off', 'sysroot ' + sysroot, 'architecture auto', 'osabi auto', 'remotetimeout 100000',
                    'breakpoint pending on', 'debuginfod enabled off', 'index-cache enabled off'):
        try:
            _said('set ' + setting)
        except gdb.error:               # of a version that does not have it
            pass
    gdb.events.stop.connect(_on_stop)
    gdb.events.stop.connect(_jit_on_stop)
    gdb.events.stop.connect(_map_on_stop)
    gdb.events.new_objfile.connect(_on_objfile)
    gdb.events.cont.connect(_on_resume)
    if hasattr(gdb.events, 'free_objfile') and hasattr(gdb, 'BP_CATCHPOINT'):
        gdb.events.free_objfile.connect(_on_free)
    _say(_said('target remote ' + socket))
    gdb.events.new_thread.connect(_on_thread)
    if hasattr(gdb.events, 'new_inferior'):
        gdb.events.new_inferior.connect(_on_inferior)
    if hasattr(gdb.events, 'before_prompt'):
        gdb.events.before_prompt.connect(lambda: _living(''))
    _pids[gdb.selected_inferior().num] = gdb.selected_inferior().pid
    _programs[gdb.selected_inferior().num] = _said('monitor place').split('\n')[0]
