#!/bin/bash
# test: timeout=60
# ^C where a page is watched that the program writes all the time (no debug registers): also in a repeated string instruction, and on the way back, it stops soon.
. "$LIB"
need gcc python3
cat >pages.c <<'EOF2'
#include <stdio.h>
static struct { char before[6000]; int quiet; char after[6000]; } area;
static volatile unsigned long acc[9];
static void fill(char *at, unsigned long n, int c)
{
	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(c) : "memory");
}
int main(void)
{
	for (int i = 0; i < 4000; i++) {
		fill(area.before, sizeof(area.before), i);
		fill(area.after, sizeof(area.after), i);
		for (int k = 0; k < 20000; k++)
			acc[k & 7] += (unsigned long)k;
	}
	printf("%lu %d\n", acc[1], area.quiet);
	return 0;
}
EOF2
gcc -O1 -no-pie -o pages pages.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./pages >/dev/null || fail 'rec failed'
cat >wire.py <<'EOF2'
import os, random, select, socket, subprocess, sys, time
sys.path.insert(0, os.environ["ROOT"] + "/tests")
from spent import spent
replay, trace, area, acc = sys.argv[1:5]
path = os.path.join(os.environ["TMP"], "sock")
p = subprocess.Popen([replay, "--serve=unix:" + path, trace])
while True:
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
        break
    except OSError:
        time.sleep(0.01)
data = b""
def send(b):
    s.sendall(b"$" + b + b"#%02x" % (sum(b) & 255))
def reply(within):
    global data
    end = time.time() + within
    while b"#" not in data or len(data) < data.index(b"#") + 3:
        if not select.select([s], [], [], max(0, end - time.time()))[0]:
            return None
        got = s.recv(65536)
        if not got:
            sys.exit("the server hung up")
        data += got
    a, z = data.index(b"$"), data.index(b"#")
    r, data = data[a + 1:z], data[z + 3:]
    return r
def cmd(b):
    send(b)
    return reply(30)
cmd(b"QStartNoAckMode"); s.sendall(b"+")
cmd(b"qRcmd," + b"seek end".hex().encode())
while data:
    reply(1)
random.seed(3)
took = []
for watch in area + "+6000", acc + "+64":	# in the middle of what is filled; beside what the loop writes
    at = b"Z2,%x,4" % sum(int(x, 0) for x in watch.split("+"))
    for way in b"bc", b"bc", b"vCont;c", b"vCont;c", b"bc", b"vCont;c", b"bc", b"vCont;c":
        # without the watchpoint to some place, from there with it, where nothing of what it is on changes
        send(b"bc" if way == b"vCont;c" else b"vCont;c")
        if reply(random.uniform(0.02, 0.1)) is None:
            s.sendall(b"\x03")
            assert reply(10) is not None
        assert cmd(at) == b"OK"
        send(way)
        if reply(random.uniform(0.05, 0.2)) is None:
            t = spent()
            s.sendall(b"\x03")
            r = reply(20)
            assert r, "no stop"
            took.append(spent() - t)
        assert cmd(b"z" + at[1:]) == b"OK"
send(b"k")
p.wait()
took.sort()
print(" ".join("%.3f" % t for t in took))
assert took and took[-1] < 2 * float(os.environ.get("TIMEOUT_SCALE", "1")), "^C took too long"	# 0.12 s on a machine that is busy
EOF2
addr() { nm pages | awk -v n="$1" '$3 == n {print "0x" $1}'; }
HINDSIGHT_NODR=1 python3 wire.py "$REPLAY" "$TMP/trace" "$(addr area)" "$(addr acc)" >took || fail "$(cat took)"
