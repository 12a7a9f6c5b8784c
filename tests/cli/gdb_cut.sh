#!/bin/bash
# test: timeout=120
# Connections that break: recorded sessions of gdb and lldb, cut after any byte, at once and in the middle of moves; the server ends,
# and nothing of the replay is left.
. "$LIB"
need gcc python3
cat >c.c <<'EOF2'
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
volatile unsigned long x;
static void *spin(void *a) { for (long i = 0; i < 20000000; i++) x += i; return a; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, spin, NULL);
	if (!fork())
		_exit(0);
	wait(NULL);
	spin(NULL);
	pthread_join(t, NULL);
	return 0;
}
EOF2
gcc -O1 -pthread -o c c.c || skip 'no compiler'
"$REC" -o "$TMP/c" ./c || fail 'rec c'
cat >cut.py <<'EOF2'
import glob, os, random, socket, subprocess, sys, time
replay, trace, corpus = sys.argv[1:4]
path = os.path.join(os.environ["TMP"], "sock")

def frame(b):
    return b"$" + b + b"#%02x" % (sum(b) & 255)

def children(pid):
    out = []
    for p in os.listdir("/proc"):
        try:
            if p.isdigit() and open("/proc/%s/stat" % p).read().rpartition(")")[2].split()[1] == str(pid):
                out.append(p)
        except OSError:
            pass
    return out

def cut(session, n, wait, name):
    p = subprocess.Popen([replay, "--serve=unix:" + path, trace], stderr=subprocess.PIPE)
    s = socket.socket(socket.AF_UNIX)
    for _ in range(1000):
        try:
            s.connect(path)
            break
        except OSError:
            time.sleep(0.005)
    below = children(p.pid)
    try:
        s.sendall(session[:n])
    except OSError:         # it has ended already: a detach
        pass
    time.sleep(wait)
    s.close()
    why = "%s cut at byte %d of %d" % (name, n, len(session))
    try:
        if p.wait(10):
            sys.exit("%s: the server exited %d: %s" % (why, p.returncode, p.stderr.read()))
    except subprocess.TimeoutExpired:
        p.kill()
        sys.exit("%s: the server is still there" % why)
    p.stderr.close()
    left = [c for c in below if os.path.exists("/proc/%s" % c)]
    time.sleep(0.02 if left else 0)
    left = [c for c in left if os.path.exists("/proc/%s" % c)]
    if left:
        sys.exit("%s: left: %s" % (why, left))
    if os.path.exists(path):
        sys.exit("%s: the socket is still there" % why)

random.seed(3)
ends = time.time() + 60
done = 0
for f in sorted(glob.glob(corpus + "/*session")) + [corpus + "/odd"]:
    session = open(f, "rb").read()[2:]
    step = max(1, len(session) // 24)
    for n in range(random.randrange(step), len(session) + step, step):
        cut(session, min(n, len(session)), random.choice((0, 0, 0.01, 0.1)), os.path.basename(f))
        done += 1
        if time.time() > ends:
            break
# in the middle of long moves, both ways
start = frame(b"QStartNoAckMode") + b"+" + frame(b"qSupported:multiprocess+;fork-events+")
for moves in (b"vCont;c",), (b"bs",), (b"vCont;c", b"bc"), (b"QCatchSyscalls:1", b"vCont;c"), (b"vCont;r0,7fffffffffff",):
    for wait in (0.01, 0.15, 0.4):
        cut(start + b"".join(frame(m) for m in moves), 1 << 20, wait, "%s after %s s" % (moves[-1].decode(), wait))
        done += 1
print(done, "cuts")
EOF2
python3 cut.py "$REPLAY" "$TMP/c" "$ROOT/tests/fuzz/corpus/gdbserver_packets" || fail 'see above'
