#!/bin/bash
# test: timeout=120
# Back out of functions of a library: to the call, not to the jump in the linkage table or to the loader that looked them up.
. "$LIB"
need gdb gcc
cat >l.c <<'EOF2'
int twice(int n) { int m = n + n; return m; }
EOF2
cat >t.c <<'EOF2'
#include <pthread.h>
int twice(int n);
int jump(int n);
__asm__(".text; .globl jump; .type jump, @function; jump: .cfi_startproc; inc %edi; jmp twice@plt; .cfi_endproc; .size jump, .-jump");
static void *thread(void *arg)
{
	*(int *)arg += twice(*(int *)arg);
	return 0;
}
int main(void)
{
	int x = 1;
	pthread_t t;

	x += twice(x);
	x += twice(x);
	pthread_create(&t, 0, thread, &x);
	pthread_join(t, 0);
	return jump(x) != 56;
}
EOF2
gcc -g -shared -fPIC -o libl.so l.c && gcc -g -Wl,-z,lazy -Wl,-rpath,"$PWD" -o t t.c -L. -ll -lpthread || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t || fail 'rec failed'
cat >script <<'EOF2'
break twice
continue
python n = 0
python
import re
while n < 4 and gdb.newest_frame().name() == 'twice':
    n += 1
    here = re.search(r'position (\S+)', gdb.execute('when', to_string=True)).group(1)
    ret = gdb.newest_frame().older().pc()
    for command in ('reverse-finish', 'reverse-next'):
        gdb.execute('disable', to_string=True)
        gdb.execute(command, to_string=True)
        insn = gdb.newest_frame().architecture().disassemble(gdb.newest_frame().pc())[0]
        print('%d %s: %s, %s' % (n, command, gdb.newest_frame().name(), 'at the call' if insn['addr'] + insn['length'] == ret else insn))
        gdb.execute('seek ' + here, to_string=True)
    gdb.execute('enable', to_string=True)
    gdb.execute('continue', to_string=True)
end
delete
break clone3
break __clone3
run
reverse-next
python print('next from clone3: %s' % gdb.newest_frame().name())
EOF2
timeout 100 "$REPLAY" --batch -x script "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
for want in '^1 reverse-finish: main, at the call' '^2 reverse-finish: main, at the call' '^3 reverse-finish: thread, at the call' '^4 reverse-finish: jump, ' \
	'^1 reverse-next: main' '^3 reverse-next: thread' '^4 reverse-next: (jump|main)' '^next from clone3: '; do
	grep -aqE -- "$want" "$TMP/out" || fail "no '$want' in: $(tail -22 "$TMP/out" | tr '\n' '|' | cut -c1-1500)"
done
