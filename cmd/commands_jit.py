
# ---- code that the program made (GDB's JIT interface) ----
#
# gdb's own reader takes an object at each call of __jit_debug_register_code(), forwards; going backwards it loses them, since it takes
# a call for the same thing in both directions.  Objects that are in the program's list at this point and that gdb knows nothing of are
# given to gdb here, and taken away again where they are not in the list.  Only looked at when a frame has no name.

_jit_at = None          # addresses of __jit_debug_descriptor, one in each LLVM; None: to be looked for
_jit_given = {}         # (inferior, entry, address, size) -> file
_jit_dir = None
_JIT_MOST = 100000      # entries of a list, which may be damaged


def _jit_objfile(event):
    global _jit_at
    if not _jit_dir or not event.new_objfile.filename or not event.new_objfile.filename.startswith(_jit_dir):
        _jit_at = None


def _jit_find():
    global _jit_at
    if _jit_at is None:
        said = gdb.execute('info variables ^__jit_debug_descriptor$', to_string=True)
        _jit_at = {int(x, 16) for x in re.findall(r'^(0x[0-9a-f]+)\s+__jit_debug_descriptor$', said, re.MULTILINE)}
        if ' __jit_debug_descriptor;' in said:
            _jit_at.add(int(gdb.parse_and_eval('(unsigned long)&__jit_debug_descriptor')))
    return _jit_at


def _jit_read(addr, size):
    return bytes(gdb.selected_inferior().read_memory(addr, size))


def _jit_list():
    """(inferior, entry, address of the object, size) of each that is registered now."""
    number = gdb.selected_inferior().num
    found = []
    for at in _jit_find():
        try:
            version, _, _, entry = struct.unpack('<IIQQ', _jit_read(at, 24))
            while version == 1 and entry and len(found) < _JIT_MOST:
                following, _, address, size = struct.unpack('<QQQQ', _jit_read(entry, 32))
                found.append((number, entry, address, size))
                entry = following
        except gdb.MemoryError:
            pass
    return found


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
    if not code or gdb.block_for_pc(code[0]):       # gdb knows it
        return
    path = '%s/%x-%x.o' % (_jit_directory(), key[1], key[2])
    with open(path, 'wb') as f:
        f.write(image)
    where = ''.join(' -s %s 0x%x' % (name, addr) for name, addr, _ in sections)
    gdb.execute('add-symbol-file %s%s' % (path, where if image[16] == 1 else ' -o 0'), to_string=True)
    _jit_given[key] = path


def _jit_unnamed():
    frame = gdb.newest_frame()
    for _ in range(40):
        if frame is None:
            return False
        if frame.name() is None and gdb.current_progspace().solib_name(frame.pc()) is None:
            return True
        frame = frame.older()
    return False


def _jit_stop():
    if not _jit_find() or not (_jit_given or _jit_unnamed()):
        return
    there = _jit_list()
    for key in set(_jit_given) - set(there):
        if key[0] == gdb.selected_inferior().num:
            gdb.execute('remove-symbol-file ' + _jit_given.pop(key), to_string=True)
    if _jit_unnamed():
        for key in there:
            if key not in _jit_given:
                _jit_give(key)
        gdb.execute('frame', to_string=True)


def _jit_on_stop(event):
    if _passing and _passing():
        return
    try:
        _jit_stop()
    except (gdb.error, ValueError, struct.error, OSError):      # of a program that lies: no names
        pass


gdb.events.new_objfile.connect(_jit_objfile)
