#!/bin/bash
# test: timeout=90
# gdb's machine interface as editors use it: each command waits for its result and its stop, both ways.
. "$LIB"
need gdb gcc python3
cat >t.c <<'END'
int total;
static void work(int n)
{
	total += n;
}
int main(void)
{
	for (int i = 1; i < 4; i++)
		work(i);
	return 0;
}
END
gcc -g -O0 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t || fail 'rec'
cat >mi.py <<'END'
import re, subprocess, sys
p = subprocess.Popen([sys.argv[1], "-i=mi", sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
said, n = [], 0

def until(pattern):
    for line in p.stdout:
        said.append(line)
        if re.search(pattern, line):
            return line
    sys.exit("gdb is gone: " + "".join(said[-5:]))

def ask(command, stop=None, want=""):
    global n
    n += 1
    p.stdin.write("%d%s\n" % (n, command))
    p.stdin.flush()
    line = until(r"^%d\^" % n)
    if stop:
        line = until(r"^\*stopped,reason=\"%s\"" % stop)
    if "^error" in line or not re.search(want, line):
        sys.exit("%s: wanted %s, got %s" % (command, want, line))

hit, step = "breakpoint-hit", "end-stepping-range"
ask("-list-target-features", want='"reverse"')
ask("-break-insert work", want='line="4"')
ask("-break-insert -f nosuchyet", want="PENDING")
ask("-exec-run", hit, 'value="1"')
ask("-exec-continue", hit, 'value="2"')
ask("-exec-next --reverse", step, 'func="main"')
ask("-exec-next", hit, 'value="2"')
ask("-exec-next", step, 'line="5"')
ask("-exec-step --reverse", hit, 'line="4"')
ask("-exec-finish --reverse", step, 'func="main"')
ask("-exec-continue", hit, 'value="2"')
ask("-exec-continue", hit, 'value="3"')
ask("-var-create v * total", want='value="3"')
ask("-exec-continue --reverse", hit, 'value="2"')
ask("-var-update --all-values v", want='value="1"')
ask("-break-watch total", want="wpt=")
ask("-exec-continue --reverse", "watchpoint-trigger", 'old="1",new="0"')
ask("-exec-continue", "watchpoint-trigger", 'old="0",new="1"')
ask("-thread-info", want='state="stopped"')
ask("-stack-list-frames", want='func="work".*func="main"')
ask("-gdb-exit", want="exit")
sys.exit(p.wait(20))
END
timeout 80 python3 mi.py "$REPLAY" "$TMP/trace" || fail 'see above'
