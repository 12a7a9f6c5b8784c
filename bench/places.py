#!/usr/bin/python3
"""places.py REPLAY TRACE [N [SEED]] - how fast and how exact are steps back at N random places of a recording?

Speaks the gdb-remote protocol to `replay --serve'.  A place is a random event and some steps, or, in
computing, where an interrupt after a random time finds the program.  At each: K instructions back, each timed, and
K forward, which must end at the same registers and memory.  Exit status 1 when any did not.
"""
import hashlib
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time


class Remote:
    def __init__(self, replay, trace, *options):
        self.dir = tempfile.mkdtemp(prefix="places-")
        path = os.path.join(self.dir, "s")
        self.p = subprocess.Popen([replay, "--serve=unix:" + path, *options, trace])
        for _ in range(1000):
            self.s = socket.socket(socket.AF_UNIX)
            try:
                self.s.connect(path)
                break
            except OSError:
                self.s.close()
                time.sleep(0.01)
        else:
            sys.exit("the server does not listen")
        self.s.settimeout(300)
        self.buf = b""
        self.cmd("QStartNoAckMode")
        self.s.sendall(b"+")
        self.cmd("qSupported:multiprocess+;swbreak+;hwbreak+")

    def send(self, text):
        b = text.encode()
        self.s.sendall(b"$" + b + b"#%02x" % (sum(b) & 255))

    def reply(self):
        while True:
            a = self.buf.find(b"$")
            z = self.buf.find(b"#", a)
            if a >= 0 and z >= 0 and len(self.buf) >= z + 3:
                data, self.buf = self.buf[a + 1:z], self.buf[z + 3:]
                break
            got = self.s.recv(1 << 20)
            if not got:
                sys.exit("the server hung up")
            self.buf += got
        out, i = bytearray(), 0
        while i < len(data):
            c = data[i]
            if c == 0x7d:
                i += 1
                out.append(data[i] ^ 0x20)
            else:
                out.append(c)
            i += 1
        return bytes(out).decode("latin-1")

    def cmd(self, text):
        self.send(text)
        return self.reply()

    def monitor(self, text):
        r = self.cmd("qRcmd," + text.encode().hex())
        while r.startswith("O") and r != "OK":
            r = self.reply()
        return bytes.fromhex(r).decode() if r != "OK" else ""

    def close(self):
        self.send("k")
        self.s.close()
        self.p.wait()
        for f in os.listdir(self.dir):
            os.unlink(os.path.join(self.dir, f))
        os.rmdir(self.dir)


def writable(r, pid):
    """Ranges of writable memory, from the maps the server shows."""
    fd = r.cmd("vFile:open:%s,0,0" % ("/proc/%d/maps" % pid).encode().hex())
    if fd.startswith("F-1"):
        return []
    fd = fd[1:]
    text = ""
    while True:
        d = r.cmd("vFile:pread:%s,8000,%x" % (fd, len(text)))
        n, _, data = d[1:].partition(";")
        if n.startswith("-") or not int(n, 16):
            break
        text += data
    r.cmd("vFile:close:" + fd)
    out = []
    for line in text.splitlines():
        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) .w", line)
        if m:
            out.append((int(m.group(1), 16), int(m.group(2), 16)))
    return out


def look(r, pid, regions):
    h = hashlib.sha1()
    for a, z in regions:
        at = a
        while at < z:
            n = min(0xf000, z - at)
            h.update(r.cmd("m%x,%x" % (at, n)).encode())
            at += n
    return r.cmd("g"), h.hexdigest()


NAMES = ("rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip").split()


def diff(a, b):
    out = [" %s %s/%s" % (n, a[16 * i:16 * i + 16], b[16 * i:16 * i + 16]) for i, n in enumerate(NAMES) if a[16 * i:16 * i + 16] != b[16 * i:16 * i + 16]]
    out += [" byte %d %s/%s" % (i // 2, a[i:i + 2], b[i:i + 2]) for i in range(272, len(a), 2) if a[i:i + 2] != b[i:i + 2]][:4]
    return "".join(out)


def thread_of(stop):
    m = re.search(r"thread:(p([0-9a-f]+)\.([0-9a-f]+))", stop)
    return m.group(1), int(m.group(2), 16)


def main():
    replay, trace = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    rnd = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    r = Remote(replay, trace)
    t0 = time.time()
    r.monitor("end")
    r.cmd("vCont;c")
    last = int(re.search(r"event (\d+)", r.monitor("when")).group(1))
    whole = time.time() - t0
    print("events %d, one run %.2f s" % (last, whole))
    times, bad = [], 0
    arrive = []
    verbose = os.environ.get("VERBOSE")
    for i in range(n):
        event = rnd.randrange(1, last)
        t0 = time.time()
        r.monitor("seek %d" % event)
        stop = r.cmd("vCont;s")
        for _ in range(rnd.choice((0, 0, 1, 7, 50))):
            stop = r.cmd("vCont;s")
        if rnd.random() < 0.3:
            r.send("vCont;c")
            time.sleep(rnd.random() * min(whole, 0.3))
            r.s.sendall(b"\x03")
            stop = r.reply()
        arrive.append(time.time() - t0)
        thread, pid = thread_of(stop)
        if "system call" in bytes.fromhex(r.cmd("qThreadExtraInfo," + thread)).decode():
            continue		# it cannot be stepped
        where = r.monitor("when").strip()
        k = rnd.choice((1, 2, 5, 30))
        regions = [x for x in writable(r, pid) if x[1] - x[0] <= 1 << 20]
        rnd.shuffle(regions)
        regions = regions[:6]
        before = look(r, pid, regions)
        back = 0
        for _ in range(k):
            t0 = time.time()
            stop = r.cmd("bs")
            times.append(time.time() - t0)
            if "replaylog" in stop:
                break
            back += 1
        thread2, _ = thread_of(stop)
        there = r.monitor("when").strip()
        if "replaylog" in stop:
            continue
        for _ in range(back):
            stop = r.cmd("vCont;s:%s" % thread)
        after = look(r, pid, regions)
        if before != after:
            bad += 1
            print("DIFFERENT at %s (%s), %d back (%s), now %s%s" % (where, thread, back, there, r.monitor("when").strip(),
                  ", memory" if before[0] == after[0] else diff(before[0], after[0])))
        elif verbose:
            print("same at %s, %d back, %.1f ms" % (where, back, 1000 * max(times[-back:] or [0])))
    r.close()
    times.sort()
    arrive.sort()
    pick = lambda l, q: 1000 * l[min(len(l) - 1, int(q * len(l)))] if l else 0
    print("%d places, %d different; %d steps back: median %.1f ms, p95 %.1f ms, max %.1f ms; getting there: median %.0f ms"
          % (n, bad, len(times), pick(times, 0.5), pick(times, 0.95), pick(times, 1), pick(arrive, 0.5)))
    sys.exit(bad != 0)


main()
