
# ---- code that the program made and named in a file (perf map, jitdump) ----
#
# `hindsight jit' replays the recording once, beside this session, and dates each name by the write that told it.  At a stop with frames
# that nobody has a name for, gdb is given one small object for each function that they are in; those whose code is not there at this
# point are taken away again.  So the cost is that of what is shown, not of all that was named.

_map_jobs = {}          # process -> _MapJob
_map_given = {}         # (inferior, number of the function) -> file
_map_ranges = None      # what files have in memory: no code that the program made
_MAP_DEPTH = 200        # frames that are looked at
_MAP_WAIT = 2           # seconds that the first stop waits for names


def _map_child(_die=ctypes.CDLL(None).prctl):
    """In the child: it is no business of the user's, and ends with gdb however that ends."""
    os.nice(5)
    _die(1, signal.SIGKILL)     # PR_SET_PDEATHSIG


class _MapJob:
    """The names of a process, when they are known."""

    def __init__(self, pid):
        self.functions = self.event = None
        self.file = tempfile.TemporaryFile()
        self.run = subprocess.Popen([_hs_bin, 'jit', '-q', '--json', '--history', '-p', str(pid), _hs_trace], stdin=subprocess.DEVNULL,
                                    stdout=self.file, stderr=subprocess.DEVNULL, preexec_fn=_map_child, start_new_session=True)
        atexit.register(self.end)

    def end(self):
        if self.run.poll() is None:
            self.run.kill()
            self.run.wait()

    def ready(self, seconds):
        """Are they?  Waits that long at most; None: as long as it takes."""
        if self.functions is None:
            try:
                self.run.wait(seconds)
            except subprocess.TimeoutExpired:
                return False
            self.functions = self._read() if self.run.returncode == 0 else []
            self.starts = [f[0] for f in self.functions]
        return True

    def _read(self):
        self.file.seek(0)
        found = []
        for f in json.load(self.file)['functions']:
            start, death = int(f['address'], 16), f['death']
            if f['origin'] != 'object' and f['name']:
                found.append((start, start + f['size'], f['birth'], sys.maxsize if death is None else death, f['name']))
        return sorted(found)

    def find(self, pc, event):
        """The number of the function that is at pc after this event; of several the youngest."""
        best = None
        at = bisect.bisect_right(self.starts, pc)
        for i in range(at - 1, max(at - 200, 0) - 1, -1):
            start, end, birth, death, _ = self.functions[i]
            if pc < end and birth <= event <= death and (best is None or birth >= self.functions[best][2]):
                best = i
        return best


def _map_forget(event):
    global _map_ranges
    name = _file_name(event.new_objfile)
    if not _jit_dir or not name or not name.startswith(_jit_dir):
        _map_ranges = None


def _map_in_file(pc):
    global _map_ranges
    if _map_ranges is None:
        said = _said('info files')
        _map_ranges = sorted((int(a, 16), int(b, 16)) for a, b, name in re.findall(r'(0x[0-9a-f]+) - (0x[0-9a-f]+) is (.*)', said)
                             if not _jit_dir or _jit_dir not in name)
    at = bisect.bisect_right(_map_ranges, (pc, sys.maxsize))
    return at > 0 and pc < _map_ranges[at - 1][1]


def _map_unnamed():
    """Addresses in frames of code that is of no file and has no name."""
    frame, found = gdb.newest_frame(), []
    for _ in range(_MAP_DEPTH):
        if frame is None:
            break
        # A return address may be the first behind a function that ends in a call.
        pc = frame.pc() - (frame.newer() is not None and frame.newer().type() == gdb.NORMAL_FRAME)
        if frame.name() is None and pc > 0 and not _map_in_file(pc) and gdb.current_progspace().solib_name(pc) is None:
            found.append(pc)
        frame = frame.older()
    return found


def _map_object(start, size, name):
    """An ELF file with one function, whose code is in the program's memory."""
    names = b'\0.text\0.symtab\0.strtab\0.shstrtab\0'
    strings = b'\0' + name.encode('utf-8', 'replace').replace(b'\0', b'?') + b'\0'
    symbols = bytes(24) + struct.pack('<IBBHQQ', 1, 0x12, 0, 1, start, size)
    body, table = bytearray(64), [bytes(64)]

    def section(name, kind, flags, addr, data, size=None, link=0, info=0, entry=0):
        body.extend(bytes(-len(body) % 8))
        table.append(struct.pack('<IIQQQQIIQQ', names.index(name + b'\0'), kind, flags, addr, len(body), len(data) if size is None else size,
                                 link, info, 8, entry))
        body.extend(data)

    section(b'.text', 8, 6, start, b'', size)
    section(b'.symtab', 2, 0, 0, symbols, link=3, info=1, entry=24)
    section(b'.strtab', 3, 0, 0, strings)
    section(b'.shstrtab', 3, 0, 0, names)
    body.extend(bytes(-len(body) % 8))
    struct.pack_into('<16sHHIQQQIHHHHHH', body, 0, b'\x7fELF\2\1\1', 2, 62, 1, start, 0, len(body), 0, 64, 0, 0, 64, len(table), 4)
    return bytes(body) + b''.join(table)


class _MapId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class _MapUnwinder(gdb.unwinder.Unwinder):
    """Frames of code that has no call frame information, and a frame pointer: what the program made, and V8's own code that is in its file.
    gdb looks for the frame pointer at the beginning of a function only."""

    def __init__(self):
        super().__init__('hindsight-jit')
        self.began = {}         # event, address -> where its function begins, has it set a frame pointer?; None: not known

    def _begin(self, pc):
        job = _map_jobs[gdb.selected_inferior().pid]
        start = None
        if _map_in_file(pc):
            said = re.match(r'Builtins_\S+(?: \+ (\d+))? in section ', _said('info symbol %#x' % pc))
            start = pc - int(said.group(1) or 0) if said else None
        else:
            i = job.find(pc, job.event)
            start = None if i is None else job.functions[i][0]
        if start is None:
            return None
        code = _jit_read(start, min(pc - start, 512))
        # push %rbp; mov %rsp,%rbp, in one form or the other
        return start, b'\x55\x48\x89\xe5' in code or b'\x55\x48\x8b\xec' in code

    def __call__(self, frame):
        job = _map_jobs.get(gdb.selected_inferior().pid)
        if not job or not job.functions:
            return None
        try:
            pc, bp, sp = (int(frame.read_register(r)) & 0xffffffffffffffff for r in ('rip', 'rbp', 'rsp'))
            key = job.event, pc
            if key not in self.began:
                self.began[key] = self._begin(pc)
            # V8's baseline code has its frame set up elsewhere; but what has called another function has one.
            if not self.began[key] or not sp <= bp < sp + (1 << 24) or not (self.began[key][1] or frame.level()) or _jit_read(pc, 1) == b'\xc3':
                return None
            saved, back = struct.unpack('<QQ', _jit_read(bp, 16))
        except (gdb.error, ValueError):
            return None
        word = gdb.lookup_type('unsigned long')
        info = frame.create_unwind_info(_MapId(gdb.Value(bp + 16).cast(word), gdb.Value(self.began[key][0]).cast(word)))
        for name, value in (('rip', back), ('rbp', saved), ('rsp', bp + 16)):
            info.add_saved_register(name, gdb.Value(value).cast(word))
        return info


def _map_take(number, event, job):
    """Those that gdb has and that are not there at this point."""
    for key in [k for k in _map_given if k[0] == number]:
        start, _, birth, death, _ = job.functions[key[1]]
        if not birth <= event <= death or job.find(start, event) != key[1]:
            _said('remove-symbol-file ' + _map_given.pop(key))


def _map_give(number, event, job):
    """For each function that is in the stack and has no name.  A frame that can be unwound shows others; so again, until there is
    nothing new."""
    for _ in range(_MAP_DEPTH):
        new = {job.find(pc, event) for pc in _map_unnamed()} - {None}
        new = [i for i in new if (number, i) not in _map_given]
        if not new:
            return
        for i in new:
            start, end, _, _, name = job.functions[i]
            path = '%s/map-%d-%d.o' % (_jit_directory(), number, i)
            with open(path, 'wb') as f:
                f.write(_map_object(start, end - start, name))
            _said('add-symbol-file %s -o 0' % path)
            _map_given[number, i] = path


def _map_stop(wait=0):
    inferior = gdb.selected_inferior()
    job = _map_jobs.get(inferior.pid)
    if job is None:
        if not _map_unnamed():
            return
        job, wait = _MapJob(inferior.pid), _MAP_WAIT
        _map_jobs[inferior.pid] = job
    if not job.ready(wait) or not job.functions:
        return
    event = re.match(r'event (\d+)', _ask('when'))
    if not event:
        return
    if job.event is None:
        gdb.unwinder.register_unwinder(None, _MapUnwinder(), True)
    if job.event != int(event.group(1)):
        job.event = int(event.group(1))
        gdb.invalidate_cached_frames()
    _map_take(inferior.num, job.event, job)
    _map_give(inferior.num, job.event, job)


def _map_on_stop(event):
    if (_passing and _passing()) or '_hs_bin' not in globals():
        return
    try:
        _map_stop()
    except (gdb.error, ValueError, KeyError, struct.error, OSError, OverflowError):    # no names
        pass


@_command('jit-names', gdb.COMMAND_STATUS)
def _jit_names(arg):
    """Wait for the names of code that the program made and named in a file (perf map, jitdump).
They are read by a replay of their own, which begins at the first stop in such code; a long recording takes as long as its replay."""
    _nothing(arg, 'jit-names')
    inferior = gdb.selected_inferior()
    if not inferior.pid:
        raise gdb.GdbError('The program is not being run.')
    if inferior.pid not in _map_jobs:
        _map_jobs[inferior.pid] = _MapJob(inferior.pid)
    _map_stop(None)
    gdb.write('%d functions of code that the program made have a name.\n' % len(_map_jobs[inferior.pid].functions))


gdb.events.new_objfile.connect(_map_forget)
