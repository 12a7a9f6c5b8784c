
# ---- code that the program made (GDB's JIT interface) ----
#
# gdb's own reader takes an object at each call of __jit_debug_register_code(): a thousand take it a minute, and going backwards it
# loses them, since it takes a call for the same thing in both directions.  So the server leaves gdb's breakpoint there out of moves
# (gdbserver/jit.c), and tells which objects have code in the stack; these are given to gdb here, and taken away again where they are not
# registered.  Of a program with few objects gdb has all, so that it can step into them.

_jit_given = {}         # (inferior, entry, address, size, hash) -> file
_jit_starts = {}        # the same -> where its code begins
_jit_events = set()     # addresses of __jit_debug_register_code(), one in each LLVM
_jit_dir = None
_JIT_FEW = 32
_JIT_DEPTH = 200        # frames that are looked at


def _jit_read(addr, size):
    return bytes(gdb.selected_inferior().read_memory(addr, size))


def _jit_ask(pcs):
    """The objects that are registered now: all when they are few, or those with code at these addresses; (inferior, entry, address of
    the object, size, hash) of each."""
    number, found = gdb.selected_inferior().num, []
    for line in _ask('jit %d%s' % (_JIT_FEW, ''.join(' %x' % (pc & 0xffffffffffffffff) for pc in pcs))).split():
        if line[0] == '=':
            _jit_events.add(int(line[1:], 16))
            found.append((number,))
        else:
            found[-1] += int(line, 16),
            if len(found[-1]) == 5:
                found.append((number,))
    return [key for key in found if len(key) == 5]


def _jit_flags():
    """For gdbserver/jit.c: gdb need not know of objects at once; but a breakpoint waits for a function; is where they are told of."""
    flags = '~'
    for b in gdb.breakpoints():
        if b.enabled and getattr(b, 'pending', False):
            flags += '?' if '?' not in flags else ''
    if any('jit_debug_register_code' in (b.location or '') or any(place.address in _jit_events for place in getattr(b, 'locations', None) or ())
           for b in gdb.breakpoints() if b.enabled):
        flags += '@'
    return flags


def _jit_sections(image):
    """Name, address, is it code: of those that are in memory.  A section without an address is not where the program could use it; it gets
    one in image near the code, so that references reach."""
    section = struct.Struct('<IIQQQQIIQQ')
    at, = struct.unpack_from('<Q', image, 0x28)
    number, names = struct.unpack_from('<HH', image, 0x3c)
    first = section.unpack_from(image, at)
    number = number or first[5]
    table = section.unpack_from(image, at + 64 * (first[6] if names == 0xffff else names))[4]
    headers = [section.unpack_from(image, at + 64 * i) for i in range(number)]
    free = max((h[3] + h[5] for h in headers if h[2] & 4), default=0) + 0x1000000
    found = []
    for i, (name, _, flags, addr, _, size, *_) in enumerate(headers):
        if not flags & 2 or not size:
            continue
        if not addr:
            free = addr = (free + 63) & ~63
            free += size
            struct.pack_into('<Q', image, at + 64 * i + 16, addr)
        end = image.index(b'\0', table + name)
        found.append((image[table + name:end].decode('latin-1'), addr, bool(flags & 4)))
    return found


def _jit_directory():
    global _jit_dir
    if not _jit_dir:
        _jit_dir = tempfile.mkdtemp(prefix='hindsight-jit-')
        atexit.register(shutil.rmtree, _jit_dir, True)
    return _jit_dir


def _jit_give(key):
    image = bytearray(_jit_read(key[2], key[3]))
    sections = _jit_sections(image)
    code = [addr for _, addr, is_code in sections if is_code]
    if not code:
        return
    # another file for another object: gdb knows a file by its name, size and second
    path = '%s/%d-%x-%x-%x.o' % ((_jit_directory(),) + key[:3] + key[4:])
    with open(path, 'wb') as f:
        f.write(image)
    where = ''.join(' -s %s 0x%x' % (name, addr) for name, addr, _ in sections)
    _said('add-symbol-file %s%s' % (path, where if image[16] == 1 else ' -o 0'))
    _jit_given[key], _jit_starts[key] = path, code[0]


def _jit_unnamed():
    """Addresses in frames that have no name and are in no library."""
    frame, found = gdb.newest_frame(), []
    for _ in range(_JIT_DEPTH):
        if frame is None:
            break
        pc = frame.pc() - (frame.newer() is not None and frame.newer().type() == gdb.NORMAL_FRAME)
        if frame.name() is None and pc > 0 and gdb.current_progspace().solib_name(pc) is None:
            found.append(pc)
        frame = frame.older()
    return found


def _jit_stop():
    """A frame that can be unwound shows others; so again, until there is nothing new."""
    number, asked = gdb.selected_inferior().num, set()
    for _ in range(_JIT_DEPTH):
        given = [key for key in _jit_given if key[0] == number]
        pcs = _jit_unnamed()
        there = _jit_ask([_jit_starts[key] for key in given] + pcs)
        gone, new = set(given) - set(there), set(there) - set(given) - asked
        for key in gone:
            _jit_starts.pop(key)
            _said('remove-symbol-file ' + _jit_given.pop(key))
        for key in new:
            try:
                _jit_give(key)
            except (gdb.error, ValueError, IndexError, struct.error, OSError):      # a lie
                pass
        asked |= new
        if not gone and not new:
            break
        _said('frame')


def _jit_on_stop(event):
    if _passing and _passing():
        return
    try:
        if gdb.selected_thread() is not None:
            _jit_stop()
    except (gdb.error, gdb.GdbError, ValueError, struct.error, OSError):    # no names
        pass
