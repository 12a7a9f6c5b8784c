

# ---- commands_lines.py: backwards out of a function, and by lines ----
#
# gdb has commands for both, which step by instruction where they could ask: these find the place by the function's entry, or by lines
# that the server is told once (gdbserver/lines.c), and go there in one search.

# ---- out of a function, backwards ----

def _entry(frame):
    """Where the function of a frame begins, and the stack pointer there; None: gdb knows neither."""
    caller = frame.older()
    while caller is not None and caller.type() == gdb.TAILCALL_FRAME:
        caller = caller.older()
    if frame.type() != gdb.NORMAL_FRAME or caller is None:
        return None
    if frame.function() is not None:
        start = int(frame.function().value().address)
    else:
        known = re.search(r'(?: \+ (\d+))? in section ', _said('info symbol 0x%x' % frame.pc()))
        if not known:
            return None
        start = frame.pc() - int(known.group(1) or 0)
    return start, (int(caller.read_register('rsp')) - 8) & (1 << 64) - 1


def _is_at(entry):
    frame = gdb.newest_frame()
    return (frame.pc(), int(frame.read_register('rsp')) & (1 << 64) - 1) == entry


def _reversed(command):
    """gdb's own."""
    gdb.execute('set exec-direction reverse')
    try:
        gdb.execute(command)
    finally:
        gdb.execute('set exec-direction forward')


@_command('reverse-finish')
def _reverse_finish(arg):
    """Go back to just before the selected stack frame was called."""
    _nothing(arg, 'reverse-finish')
    entry = _entry(gdb.selected_frame())
    if entry is None:       # gdb's own would stop at the latest call of this function, whichever frame that made
        _reversed('finish')
    elif not _to_call(entry, False):
        gdb.write(_stopped_by)


def _called_by(entry):
    """For a function which is still running: the instruction that called it, and what that one calls, if that is another than the function: a jump
    to it in a procedure linkage table, or 0, a function that jumped on.  None, None: not known."""
    inferior = gdb.selected_inferior()
    try:
        ret = int.from_bytes(inferior.read_memory(entry[1], 8).tobytes(), 'little')
        code = inferior.read_memory(ret - 5, 5).tobytes()
    except (gdb.MemoryError, OverflowError):
        return None, None
    start = (ret + int.from_bytes(code[1:], 'little', signed=True)) & (1 << 64) - 1
    name = _said('info symbol 0x%x' % start)
    if code[0] != 0xe8 or start != entry[0] and (' in section ' not in name or re.search(r' \+ \d+ in section ', name)):
        return None, None   # what looks like a call goes anywhere
    return ret - 5, None if start == entry[0] else start if '@plt in section' in name else 0


_stopped_by = ''         # what gdb said where _to_call() did not get there


def _place_of(entry):
    language = gdb.parameter('language')
    _said('set language c')
    try:
        place = gdb.Breakpoint('*0x%x' % entry[0], internal=True)
        place.condition = '$rsp == 0x%x' % entry[1]
    finally:
        _said('set language ' + language)
    place.silent = True
    place.thread = gdb.selected_thread().global_num
    return place


def _back_to(entry):
    """To the last time that the program was there.  False: something else was on the way."""
    global _stopped_by
    global _passing
    others = []
    place = _place_of(entry)

    def stopped(event):
        others.extend(b for b in getattr(event, 'breakpoints', []) if b.number != place.number)
    gdb.events.stop.connect(stopped)
    _passing = lambda: _is_at(entry) and not others
    try:
        said = _said('reverse-continue')
    finally:
        gdb.events.stop.disconnect(stopped)
        if place.is_valid():
            place.delete()
        passed, _passing = gdb.selected_thread() is not None and _passing(), None
    if not passed:
        _stopped_by = said
    return passed


def _unseen(command):
    global _passing
    _passing = lambda: True
    try:
        _said(command)
    finally:
        _passing = None


def _on_to(entry):
    """Forward to there, where nothing else is on the way; else back to where it began."""
    place = _place_of(entry)
    _ask('mark')
    try:
        _unseen('continue')
        if gdb.selected_thread() is not None and _is_at(entry):
            return True
    finally:
        if place.is_valid():
            place.delete()
    _ask('marked')
    _unseen('reverse-stepi')
    return False


def _to_call(entry, on):
    """To where a function was called from.  False: something else was on the way; on: to be shown later."""
    call, other = _called_by(entry)
    if other == 0:          # the call is executed less often than a function like memcpy
        there = _is_at(entry)
        if not there and not _back_to((call, entry[1] + 8 & (1 << 64) - 1)):
            return False
        if there or _on_to(entry):
            _unlinked()
    else:
        entry = other or entry[0], entry[1]
        if not _is_at(entry) and not _back_to(entry):
            return False
    if on:
        _unseen('reverse-stepi')
    else:
        gdb.execute('reverse-stepi')
    return True


def _unlinked():
    """From the beginning of a function to that of the jump to it in a procedure linkage table, if it came from there."""
    for step in range(3):
        _unseen('reverse-stepi')
        if not (gdb.newest_frame().name() or '').endswith('@plt'):
            _unseen('stepi')
            break


# ---- by lines, backwards ----

_told = {}               # functions whose lines the server knows


def _function_at(pc):
    """The block of the function, not one that is inline in it."""
    found, block = None, gdb.block_for_pc(pc)
    while block is not None and not block.is_global and not block.is_static:
        found = block if block.function is not None else found
        block = block.superblock
    return found


def _tell_lines(pc):
    """gdb's ranges of addresses in the function at pc, for gdbserver/lines.c."""
    block = _function_at(pc)
    if block is None:
        return
    start, end, table = block.start, block.end, []
    key = (gdb.selected_inferior().pid, start)
    name = (end, _file_name(block.function.symtab.objfile))
    if _told.get(key) == name or end - start > 1 << 18:
        return
    pc = start
    while pc < end:
        sal = gdb.find_pc_line(pc)
        last = sal.last if sal.last is not None and sal.last >= pc else pc
        table.append('%s%x' % ('' if sal.line else '-', min(last + 1, end) - pc))
        pc = last + 1
    for again in range(2):
        if not _said('monitor lines %x %s' % (start, ','.join(table))):
            _told[key] = name
            break
        _told.clear()       # there was no room: it has forgotten the others


def _tell_of(frame, kind):
    """What a step from here may come to."""
    if not frame.find_sal().line:
        return
    _tell_lines(frame.pc())
    if kind == 'step':
        for callee in re.findall(r'^[0-9a-f]+$', _said('monitor lines wanted'), re.MULTILINE)[:100]:
            _tell_lines(int(callee, 16))
    caller = frame.older()
    if caller is not None and caller.type() == gdb.NORMAL_FRAME and caller.pc():    # 0: of a thread's first function
        _tell_lines(caller.pc() - 1)


def _by_lines(kind, arg):
    if gdb.parameter('exec-direction') == 'reverse':
        raise gdb.GdbError("Already in reverse mode.  Use '%s' or 'set exec-dir forward'." % kind)
    count = 1
    if re.match(r'[^&]+$', arg):
        count, arg = int(gdb.parse_and_eval(arg)), ''
    for turn in range(count):
        stops = []

        def stopped(event):
            stops.append(event)
        gdb.events.stop.connect(stopped)
        try:
            _a_line(kind, arg)
        finally:
            gdb.events.stop.disconnect(stopped)
        if gdb.selected_thread() is None or not stops or getattr(stops[-1], 'breakpoints', None) or isinstance(stops[-1], gdb.SignalEvent):
            break


def _a_line(kind, arg):
    frame = gdb.newest_frame() if gdb.selected_thread() is not None else None
    line = frame.find_sal() if frame is not None else None
    entry = _entry(frame) if line is not None and not line.line and frame.name() else None
    if entry is not None:
        gdb.write('Single stepping until exit from function %s,\nwhich has no line number information.\n' % frame.name())
        _ask('mark')
        if _to_call(entry, True):
            frame = gdb.newest_frame()
            line = frame.find_sal()
            if not line.line or line.pc == frame.pc():
                _on_stop(None)          # gdb has shown it
                return
        elif 'No more reverse-execution history' in _stopped_by:     # it was not called from where its frame says
            _ask('marked')
            _said('reverse-stepi')
        else:
            gdb.write(_stopped_by)
            return
    try:
        if frame is not None:
            _tell_of(frame, kind)
        _said('monitor lines ' + kind)
    except gdb.error:
        pass
    try:
        _reversed(kind + ' ' + arg)
    finally:
        try:
            _said('monitor lines off')
        except gdb.error:
            pass


def _repeated(name, kind, text):
    class Lines(gdb.Command):
        def invoke(self, arg, from_tty):
            try:
                _by_lines(kind, arg.strip())
            except gdb.GdbError:
                raise
            except gdb.error as e:
                raise gdb.GdbError(str(e))
    Lines.__doc__ = text
    Lines(name, gdb.COMMAND_RUNNING, gdb.COMPLETE_EXPRESSION)


_repeated('reverse-next', 'next', """Step program backward, proceeding through subroutine calls.
Usage: reverse-next [N]
Argument N means step N times (or till program stops for another reason).""")
_repeated('reverse-step', 'step', """Step program backward until it reaches the beginning of another source line.
Usage: reverse-step [N]
Argument N means step N times (or till program stops for another reason).""")
