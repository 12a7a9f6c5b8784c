#!/bin/bash
# test: timeout=120
# Back from where the program died: one instruction, one line, out of the function; after long computing it takes no new run through it.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF2'
int *volatile p;
volatile int k;
static __attribute__((noinline)) void last(int n)
{
	k = n;
	*p = k;
}
static __attribute__((noinline)) int work(void)
{
	for (int i = 0; i < LOOPS; i++)
		k += i;
	if (HERE)
		*p = k;
	last(k);
	return k;
}
int main(void)
{
	return work() + 1;
}
EOF2
cat >script <<'EOF2'
python
import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
t0 = spent()
gdb.execute('continue')
went = spent() - t0
def insn(): return gdb.newest_frame().architecture().disassemble(gdb.newest_frame().pc())[0]
fault = insn()['addr']
t0 = spent()
gdb.execute('reverse-stepi')
back = spent() - t0
print('quick: %s (%.2f s, %.2f)' % (back < 0.3 + went / 2, back, went))
print('then: %s' % (insn()['addr'] + insn()['length'] == fault))
gdb.execute('stepi')
print('again: %s' % (insn()['addr'] == fault))
end
continue
reverse-next
python print('line: %s' % gdb.newest_frame().find_sal().symtab.filename)
continue
reverse-finish
python print('caller: %s' % gdb.newest_frame().name())
continue
EOF2
for loops in 0 100 3000000 700000000; do
	gcc -O1 -g -DLOOPS=$loops -DHERE=$((loops % 3)) -o t t.c || skip 'no compiler'
	"$REC" -o "$TMP/trace$loops" ./t >/dev/null 2>&1
	timeout 60 "$REPLAY" --batch -x script "$TMP/trace$loops" >"$TMP/out" 2>&1 </dev/null || fail "$loops: exit $?: $(tail -3 "$TMP/out" | tr '\n' '|')"
	for want in '^quick: True' '^then: True' '^again: True' '^line: t\.c' '^caller: (main|work)'; do
		grep -aqE "$want" "$TMP/out" || fail "$loops: no '$want' in: $(tail -25 "$TMP/out" | tr '\n' '|' | cut -c1-1500)"
	done
done
