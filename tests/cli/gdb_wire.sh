#!/bin/bash
# test: timeout=120
# The server against bad packets, lost connections and impatient users: no crash, nothing left behind.
. "$LIB"
need gcc python3
cat >spin.c <<'EOF'
#include <stdio.h>
int main(void)
{
	volatile unsigned long x = 0;
	for (unsigned long i = 0; i < 400000000ul; i++)
		x += i;
	printf("%lu\n", x);
	return 0;
}
EOF
gcc -O1 -o spin spin.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./spin >/dev/null || fail 'rec failed'
cat >wire.py <<'EOF'
import os, random, socket, subprocess, sys, time
sys.path.insert(0, os.environ["ROOT"] + "/tests")
from spent import spent
replay, trace = sys.argv[1:3]
path = os.path.join(os.environ["TMP"], "sock")

def start():
    p = subprocess.Popen([replay, "--serve=unix:" + path, trace])
    for _ in range(500):
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(path)
            s.settimeout(20)
            return p, s
        except OSError:
            s.close()
            time.sleep(0.01)
    sys.exit("the server does not listen")

def frame(b):
    return b"$" + b + b"#%02x" % (sum(b) & 255)

def reply(s):
    data = b""
    while b"#" not in data or len(data) < data.index(b"#") + 3:
        got = s.recv(65536)
        if not got:
            sys.exit("the server hung up after %r" % data)
        data += got
    return data[data.index(b"$") + 1:data.index(b"#")]

def ended(p, why):
    try:
        if p.wait(10):
            sys.exit("%s: the server exited %d" % (why, p.returncode))
    except subprocess.TimeoutExpired:
        p.kill()
        sys.exit("%s: the server is still there" % why)
    if os.path.exists(path):
        sys.exit("%s: the socket is still there" % why)

# every command, with arguments that make no sense, gets exactly one reply
random.seed(5)
p, s = start()
s.sendall(frame(b"QStartNoAckMode")); assert reply(s) == b"OK"
s.sendall(b"+")
prefixes = [b"?", b"g", b"G", b"m", b"M", b"X", b"p", b"P", b"T", b"H", b"Hg", b"Hc", b"Z0,", b"Z1", b"Z2,", b"Z3,", b"Z4,", b"Z9", b"z0,", b"z2",
            b"vCont?", b"vCont;x", b"vCont;r", b"vFile:open:", b"vFile:pread:", b"vFile:close:", b"vFile:fstat:", b"vFile:setfs:",
            b"vFile:", b"qXfer:auxv:read:", b"qXfer:features:read:", b"qXfer:exec-file:read:", b"qXfer:threads:read:", b"qXfer:",
            b"qRcmd,", b"qC", b"qAttached", b"qfThreadInfo", b"qsThreadInfo", b"qThreadExtraInfo", b"qSupported", b"v", b"q", b"Q", b"!", b""]
junk = [b"", b",", b":", b"0,0", b"ffffffffffffffff,ffffffffffffffff", b"0" * 40, b"p-1.-1", b"p", b"p1.", b"target.xml:0,ffffffff", b":0,",
        b"2f,0,0", b"2f2", b"zz", b"-1", b"7365656b", b"}", b"\x00\x01\xff", b"1,2,3,4", b"A" * 5000]
for prefix in prefixes:
    for j in junk + [bytes(random.choice(b"0123456789abcdef,:;p-") for _ in range(random.randrange(30))) for _ in range(5)]:
        if (prefix + j).startswith((b"vCont;c", b"vCont;s", b"c", b"s", b"b", b"k", b"D", b"vKill")):
            continue
        s.sendall(frame(prefix + j))
        reply(s)
s.sendall(frame(b"qC")); assert reply(s).startswith(b"QC"), "an extra reply came somewhere"
s.sendall(b"$no checksum$$$###" + b"x" * 1000 + b"#" + frame(b"qAttached"))
time.sleep(0.2)
s.close()
ended(p, "garbage")

# ^C while it computes
p, s = start()
s.sendall(frame(b"QStartNoAckMode")); reply(s); s.sendall(b"+")
s.sendall(frame(b"vCont;c"))
time.sleep(0.3)
t = spent()
s.sendall(b"\x03")
r = reply(s)
took = spent() - t
assert r.startswith(b"T02"), r
assert took < 1, "^C took %.2f s" % took
s.sendall(frame(b"g")); assert len(reply(s)) > 500
s.sendall(frame(b"k"))
ended(p, "k")

# the connection drops: while idle, while running, in the middle of a packet
session = frame(b"QStartNoAckMode") + b"+" + frame(b"qSupported:multiprocess+") + frame(b"?") + frame(b"vCont;c")
for cut in sorted(random.sample(range(len(session)), 12)) + [len(session)]:
    p, s = start()
    s.sendall(session[:cut])
    time.sleep(0.02)
    s.close()
    ended(p, "cut at byte %d" % cut)
EOF
python3 wire.py "$REPLAY" "$TMP/trace" || fail "see wire.py"

# the server killed: nothing stays; gdb killed: the server ends
command -v gdb >/dev/null || exit 0
"$REPLAY" --batch --ex continue "$TMP/trace" >/dev/null 2>&1 </dev/null & pid=$!
sleep 0.7
kill -9 $pid
wait $pid 2>/dev/null
"$REPLAY" --batch --ex continue "$TMP/trace" >/dev/null 2>&1 </dev/null & pid=$!
sleep 0.7
gdb=$(cat /proc/$pid/task/$pid/children 2>/dev/null)
for c in $gdb; do [ "$(cat /proc/$c/comm)" = gdb ] && kill -9 "$c"; done
wait_for 5 eval "! kill -0 $pid" || fail 'replay stays after gdb was killed'
ls -d "${TMPDIR:-/tmp}"/hindsight-?????? 2>/dev/null | while read -r d; do [ -S "$d/gdb" ] && [ -O "$d" ] && echo "left: $d" >&2; done
PATH=$TMP/empty "$REPLAY" "$TMP/trace" >"$TMP/out" 2>"$TMP/err" </dev/null; [ $? = 125 ] || fail 'without gdb: not 125'
grep -q 'apt-get install gdb' "$TMP/err" || fail "without gdb: $(cat "$TMP/err")"
