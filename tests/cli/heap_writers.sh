#!/bin/bash
# test: timeout=240
# hindsight heap --diff says of changed fields who wrote them as gdb's last does; --history lists what a gdb watchpoint does.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
export WRITERS=${WRITERS:-12}
need gdb gcc python3
cat >t.c <<'XX'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct cell { int a; long b; char c[8]; };
struct cell *cell[40];
int global[40];
long watched;
static unsigned seed = 12345;
static unsigned rnd(void) { seed = seed * 1103515245 + 12345; return seed >> 16; }
static void one(struct cell *x) { x->a = (int)rnd() % 5; }
static void two(struct cell *x) { x->b += rnd() % 3; }
static void three(struct cell *x) { memset(x->c, 'a' + (int)(rnd() % 4), 7); }
static void four(int i) { global[i] ^= (int)(rnd() & 3); }
static void five(void)
{
	watched += rnd() % 2;
	if (rnd() % 7 == 0)
		watched = 0;
}
static void stop(void) { if (write(1, "", 0)) abort(); }
int main(void)
{
	for (int i = 0; i < 40; i++)
		cell[i] = calloc(1, sizeof(struct cell));
	stop();
	for (int i = 0; i < 400; i++) {
		unsigned k = rnd() % 40;
		switch (rnd() % 5) {
		case 0: one(cell[k]); break;
		case 1: two(cell[k]); break;
		case 2: three(cell[k]); break;
		case 3: four((int)k); break;
		default: five();
		}
		if (i % 50 == 0)
			getppid();
	}
	stop();
	for (int i = 0; i < 10; i++)
		five();
	stop();
	return 0;
}
XX
gcc -g -O1 -fno-inline -o t t.c || skip 'no compiler'
"$REC" --no-syscallbuf -o "$TMP/t1" ./t >/dev/null || fail 'rec failed'
read -r E1 E2 E3 < <("$HINDSIGHT" dump "$TMP/t1" | awk '/ write\(1/ { print $1 }' | tr '\n' ' ')
[ -n "$E3" ] || fail 'not three events'
"$HINDSIGHT" heap -q "$TMP/t1" --diff="$E1,$E2" --writers=200 --json >diff.json 2>err || fail "diff: $(cat err)"
python3 - <<'XX' || fail 'the diff'
import json, os, random
d = [c for c in json.load(open("diff.json"))["changed"]]
assert len(d) > 60 and all("writer" in c for c in d), (len(d), [c["name"] for c in d if "writer" not in c])
random.seed(1)
f = open("last.gdb", "w")
out = open("ours", "w")
for c in random.sample(d, int(os.environ["WRITERS"])):
	t = {4: "int", 8: "long"}[c["size"]] if c["type"] in ("int", "long int", "long") else "char"
	e = f"*({t} *){c['address']}" if t != "char" else f"*(char(*)[8]){c['address']}"
	print(f"last {e}\npython print('WHERE', hex(gdb.selected_frame().pc()))", file=f)
	print(c["writer"]["pc"], c["name"], file=out)
f.close()
XX
# each from the same moment: a session for all would be elsewhere after the first
: >theirs
python3 - <<'XX'
lines = open("last.gdb").read().split("\n")
for i in range(0, len(lines) - 1, 2):
	open(f"last{i // 2:02d}.gdb", "w").write(lines[i] + "\n" + lines[i + 1] + "\n")
XX
for f in last[0-9]*.gdb; do
	timeout 60 "$REPLAY" --batch -e "$E2" -x "$f" "$TMP/t1" </dev/null 2>&1 | sed -n 's/^WHERE //p' >>theirs
done
paste -d ' ' theirs ours | awk -v n="$WRITERS" '{ if ($1 != $2) { print; bad = 1 } } END { exit bad || NR < n }' >bad || fail "writers differ: $(cat bad; wc -l <theirs)"

"$HINDSIGHT" heap -q "$TMP/t1" --history=watched --at="$E3" --json >history.json 2>err || fail "history: $(cat err)"
cat >watch.gdb <<XX
set pagination off
break main
continue
watch watched
python
for _ in range(1000):
    gdb.execute("continue", to_string=True)
    try:
        pc = gdb.selected_frame().pc()
    except gdb.error:
        break
    if gdb.selected_frame().name() != "five":
        break
    print("VALUE", int(gdb.parse_and_eval("watched")), gdb.selected_frame().find_sal().line)
end
XX
timeout 100 "$REPLAY" --batch -x watch.gdb "$TMP/t1" </dev/null 2>&1 | grep -a '^VALUE' >theirs
python3 - <<'XX' || fail "history differs: $(head -3 theirs)"
import json
h = json.load(open("history.json"))
ours = [int(x["value"]) for x in h["history"][1:]]
theirs = [int(l.split()[1]) for l in open("theirs")]
assert len(ours) > 30 and ours == theirs, (len(ours), len(theirs), ours[:10], theirs[:10])
assert {h["writers"][x["writer"]]["function"] for x in h["history"][1:]} == {"five"}
XX
exit 0
