#!/usr/bin/python3
"""places.py [-n N] [-s SEED] [-m steps|stops|both] [-w SHARE] REPLAY TRACE - how exact and how fast is going back, at random places?

Speaks the gdb-remote protocol to `replay --serve'.  A place is a random event and some steps, or, in
computing, where an interrupt after a random time finds the program.  At each place:
  steps   some instructions back, each timed, and as many forward
  stops   breakpoints and (in SHARE of the places) a watchpoint where the program was just seen; forward to a stop, some stops back, as many forward
Both must end at the same registers and memory.  Exit status 1 when any did not.
"""
import argparse
import hashlib
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time


class Died(Exception):
    pass


class Remote:
    def __init__(self, replay, trace, *options):
        self.said = []
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
        if not text.startswith(("m", "g", "vFile", "qThread")):
            self.said = self.said[-400:] + [text]
        try:
            self.s.sendall(b"$" + b + b"#%02x" % (sum(b) & 255))
        except OSError as e:
            raise Died from e

    def history(self):
        """What was said lately, in short."""
        out = []
        for c in self.said:
            c = bytes.fromhex(c[6:]).decode() if c.startswith("qRcmd,") else c
            out = out[:-1] + [[c, out[-1][1] + 1]] if out and out[-1][0] == c else out + [[c, 1]]
        return " | ".join(c if n == 1 else "%s x%d" % (c, n) for c, n in out[-40:])

    def reply(self):
        while True:
            a = self.buf.find(b"$")
            z = self.buf.find(b"#", a)
            if a >= 0 and z >= 0 and len(self.buf) >= z + 3:
                data, self.buf = self.buf[a + 1:z], self.buf[z + 3:]
                break
            try:
                got = self.s.recv(1 << 20)
            except ConnectionError as e:
                raise Died from e
            if not got:
                raise Died
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
        try:
            self.send("k")
        except Died:
            pass
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


class Place:
    """A random place, and what is to be seen there."""

    def __init__(self, r, rnd, last, whole):
        self.r, self.rnd = r, rnd
        t0 = time.time()
        r.monitor("seek %d" % rnd.randrange(1, last))
        self.stop = r.cmd("vCont;s")
        for _ in range(rnd.choice((0, 0, 1, 7, 50))):
            self.stop = r.cmd("vCont;s")
        if rnd.random() < 0.3:
            r.send("vCont;c")
            time.sleep(rnd.random() * min(whole, 0.3))
            r.s.sendall(b"\x03")
            self.stop = r.reply()
        self.arrive = time.time() - t0
        self.at()
        info = bytes.fromhex(r.cmd("qThreadExtraInfo," + self.thread)).decode()
        self.good = "system call" not in info	# it cannot be stepped

    def at(self):
        m = re.search(r"thread:(p([0-9a-f]+)\.([0-9a-f]+))", self.stop)
        self.thread, self.pid = m.group(1), int(m.group(2), 16)
        self.where = self.r.monitor("when").strip()

    def regions(self):
        """Some of the memory: as much as can be compared in a moment."""
        all = [x for x in writable(self.r, self.pid) if x[1] - x[0] <= 1 << 20]
        self.rnd.shuffle(all)
        return all[:6]


class Bench:
    def __init__(self, opts):
        self.rnd = random.Random(opts.s)
        self.watches = opts.w
        self.args = opts.replay, opts.trace
        self.r = r = Remote(*self.args)
        t0 = time.time()
        r.monitor("end")
        r.cmd("vCont;c")
        self.last = int(re.search(r"event (\d+)", r.monitor("when")).group(1))
        self.whole = time.time() - t0
        print("events %d, one run %.2f s" % (self.last, self.whole), flush=True)
        self.times = {"bs": [], "bc": [], "arrive": []}
        self.bad = self.done = 0
        self.verbose = os.environ.get("VERBOSE")

    def timed(self, what):
        t0 = time.time()
        stop = self.r.cmd(what)
        self.times.setdefault(what, []).append(time.time() - t0)
        if self.verbose and time.time() - t0 > 0.5:
            print("%.1f s for " % (time.time() - t0) + self.r.history() + ": " + self.r.monitor("when").strip(), flush=True)
        return stop

    def on(self, what):
        """To a breakpoint, a watchpoint or an end: past signals, forks..."""
        stop = self.timed(what)
        while stop.startswith("T") and not re.search("break|watch|replaylog", stop):
            stop = self.timed(what)
        return stop

    def compared(self, p, what, before, after, there):
        self.done += 1
        if before != after:
            self.bad += 1
            print("DIFFERENT at %s (%s), %s (%s), now %s%s" % (p.where, p.thread, what, there, self.r.monitor("when").strip(),
                  ", memory" if before[0] == after[0] else diff(before[0], after[0])), flush=True)
        elif self.verbose:
            print("same at %s, %s (%s)" % (p.where, what, there), flush=True)

    def steps(self, p):
        r, k = self.r, self.rnd.choice((1, 2, 5, 30))
        regions = p.regions()
        before, back = look(r, p.pid, regions), 0
        while back < k:
            stop = self.timed("bs")
            if "replaylog" in stop:
                return
            back += 1
        there = r.monitor("when").strip()
        for _ in range(back):
            stop = r.cmd("vCont;s:%s" % p.thread)
            while stop[:3] not in ("T05", "T00"):	# a signal is shown before it is delivered
                stop = r.cmd("vCont;s:%s" % p.thread)
        self.compared(p, "%d instructions back" % back, before, look(r, p.pid, regions), there)

    def breaks(self, p):
        """Breakpoints at instructions that come soon, perhaps a watchpoint: what to say to set them."""
        r, seen, stack, stop = self.r, [], [], p.stop
        for _ in range(self.rnd.choice((5, 40))):
            g = r.cmd("g")
            word = lambda i: int.from_bytes(bytes.fromhex(g[16 * i:16 * i + 16]), "little")
            seen.append(word(16))
            stack.append(word(7))
            stop = r.cmd("vCont;s:%s" % p.thread)
            if "replaylog" in stop or p.thread not in stop:
                break
        said = ["0,%x,1" % a for a in set(self.rnd.choices(seen, k=3))]
        if self.rnd.random() < self.watches:
            said.append("2,%x,%d" % (self.rnd.choice(stack) & ~7, self.rnd.choice((4, 8))))
        return said

    def stops(self, p):
        r, k = self.r, self.rnd.choice((1, 3, 10))
        said = self.breaks(p)
        later = said.pop() if self.rnd.random() < 0.5 and len(said) > 1 else None
        for b in said:
            r.cmd("Z" + b)
        self.among(p, k, " ".join(said), later)
        if later:
            r.cmd("z" + later)
        for b in said:
            r.cmd("z" + b)

    def among(self, p, k, said, said_later):
        r = self.r
        for _ in range(self.rnd.choice((1, 5))):
            stop = self.on("vCont;c")
            if not stop.startswith("T") or "replaylog" in stop:
                return
        p.stop = stop
        p.at()
        regions = p.regions()
        before, back = look(r, p.pid, regions), 0
        if said_later:
            r.cmd("Z" + said_later)
        while back < k:
            stop = self.on("bc")
            if "replaylog" in stop:
                break
            back += 1
        there, after = r.monitor("when").strip(), None
        for _ in range(2 * back + 3):	# twice: a breakpoint where a write is done is two stops forward, one back
            stop = self.on("vCont;c")
            if r.cmd("g") == before[0] and "replaylog" not in stop:
                after = look(r, p.pid, regions)
                if after == before:
                    break
        self.compared(p, "%d stops back for %s" % (back, said + (", then " + said_later if said_later else "")), before,
                      after or look(r, p.pid, regions), there)

    def place(self, mode):
        try:
            self.try_place(mode)
        except (Died, TimeoutError) as e:
            self.bad += 1
            print(("DIED after " if isinstance(e, Died) else "TOO LONG: ") + self.r.history(), flush=True)
            self.r.close()
            self.r = Remote(*self.args)

    def try_place(self, mode):
        p = Place(self.r, self.rnd, self.last, self.whole)
        self.times["arrive"].append(p.arrive)
        if p.good:
            (self.steps if mode == "steps" else self.stops)(p)

    def summary(self, n):
        def pick(what, q):
            l = sorted(self.times[what])
            return 1000 * l[min(len(l) - 1, int(q * len(l)))] if l else 0

        print("%d places, %d compared, %d different; getting there: median %.0f ms" % (n, self.done, self.bad, pick("arrive", 0.5)))
        for what, name in (("bs", "instructions"), ("bc", "stops")):
            if self.times[what]:
                print("%d %s back: median %.1f ms, p95 %.1f ms, max %.1f ms"
                      % (len(self.times[what]), name, pick(what, 0.5), pick(what, 0.95), pick(what, 1)))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("-n", type=int, default=200)
    a.add_argument("-s", type=int, default=1)
    a.add_argument("-m", choices=("steps", "stops", "both"), default="both")
    a.add_argument("-w", type=float, default=0.4)
    a.add_argument("-t", type=float, default=1e9, help="begin no place after so many seconds")
    a.add_argument("replay")
    a.add_argument("trace")
    opts = a.parse_args()
    b = Bench(opts)
    started = time.time()
    for i in range(opts.n):
        if time.time() - started > opts.t:
            break
        b.place(opts.m if opts.m != "both" else ("steps", "stops")[i % 2])
    b.r.close()
    b.summary(opts.n)
    sys.exit(b.bad != 0)


if __name__ == "__main__":
    main()
