#!/bin/bash
# test: timeout=60
# What newer lldbs say (22 here): features told twice, memory of their own, steps and moves both ways.
. "$LIB"
need gcc python3 nm
cat >c.c <<'EOF'
#include <pthread.h>
int total;
void *work(void *a) { total += 7; return a; }
int main(void)
{
	pthread_t t;
	for (int i = 0; i < 2; i++) {
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
	}
	return total;
}
EOF
gcc -g -O0 -no-pie -pthread -o c c.c || skip 'no compiler'
"$REC" -o "$TMP/c" ./c; [ $? = 14 ] || fail 'rec c'
work=$(nm c | sed -n 's/^0*\([0-9a-f]*\) T work$/\1/p')
cat >wire.py <<'EOF'
import os, re, socket, subprocess, sys, time
replay, trace, work = sys.argv[1:4]
path = os.path.join(os.environ["TMP"], "sock")
server = subprocess.Popen([replay, "--serve=unix:" + path, trace])
for _ in range(1000):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
        break
    except OSError:
        s.close()
        time.sleep(0.01)
s.settimeout(30)

def ask(text):
    s.sendall(b"$%s#%02x" % (text.encode(), sum(text.encode()) & 255))
    data = b""
    while not re.search(rb"\$[^#]*#..$", data):
        got = s.recv(65536)
        if not got:
            sys.exit("%s: the server hung up" % text)
        data += got
    s.sendall(b"+")
    return re.search(rb"\$([^#]*)#..$", data).group(1).decode()

def want(text, pattern):
    said = ask(text)
    if not re.search(pattern, said):
        sys.exit("%s: %s, not %s" % (text, said, pattern))
    return said

features = "qSupported:xmlRegisters=i386;multiprocess+;fork-events+;vfork-events+;swbreak+;hwbreak+"
want(features, "PacketSize")
want("QThreadSuffixSupported", "OK")
want("qHostInfo", "triple")
want(features, "PacketSize")
thread = re.search("thread:(p[0-9a-f]*[.])", want("?", "thread:")).group(1)
go = "vCont;c:" + thread + "-1"
want("Z0,%s,1" % work, "OK")
want(go, "reason:breakpoint")       # and not "vforkdone", for the thread that was made
mine = want("_M1000,rw", "^[0-9a-f]+$")
want("M%s,4:01020304" % mine, "OK")
want("m%s,4" % mine, "01020304")
second = want(go, "reason:breakpoint")
want("m%s,4" % mine, "01020304")    # in no copy of the program now ...
want("M%x,4:0a0b0c0d" % (int(mine, 16) + 4), "OK")
want("m%s,8" % mine, "010203040a0b0c0d")
want("bc", "reason:breakpoint")
want("M%s,2:ffff" % mine, "OK")     # ... and in the next one
want("m%s,8" % mine, "ffff03040a0b0c0d")
want("_m%s" % mine, "OK")
want("m%s,4" % mine, "^E")
want("_m%s" % mine, "^E")
want("_M0,rw", "^E")
want("_Mffffffffffff,rw", "^E")
if ask(go) != second:
    sys.exit("forwards again it is another place")
want("bc", "reason:breakpoint")
want("bc", "recording begins|replaylog:begin")
s.close()
sys.exit(server.wait(20))
EOF
timeout 50 python3 wire.py "$REPLAY" "$TMP/c" "$work" >"$TMP/out" 2>&1 || fail "$(tail -1 "$TMP/out")"
