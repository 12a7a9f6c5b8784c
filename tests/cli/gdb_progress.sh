#!/bin/bash
# test: timeout=120
# A way back that takes long says in the debugger's console where it is, and an interrupt ends it.
. "$LIB"
need gcc python3
cat >t.c <<'XX'
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
/* 1: dec %rdi ; jnz 1b ; ret: in shared memory, so that a breakpoint there costs a stop each time */
static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
volatile int end;
void __attribute__((noinline)) finish(void)
{
	end = 1;
}
int main(void)
{
	void *code = mmap((void *)0x500000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	memcpy(code, loop, sizeof(loop));
	((void (*)(uint64_t))(uintptr_t)code)(30000000);
	finish();
	return 0;
}
XX
cat >go.py <<'XX'
import sys, time
sys.path.insert(0, sys.argv[1] + '/bench')
import places
r = places.Remote(sys.argv[2], sys.argv[3])
r.cmd('Z0,%x,1' % int(sys.argv[4], 16))
r.cmd('vCont;c')
r.cmd('Z0,500000000,1')
r.cmd('z0,%x,1' % int(sys.argv[4], 16))
r.send('bc')
said = r.reply()
print(bytes.fromhex(said[1:]).decode() if said[0] == 'O' else said, end='')
sys.stdout.flush()
began = time.time()
r.s.sendall(b'\x03')
while said[0] == 'O':
    said = r.reply()
print('%s %d' % (said[:3], time.time() - began > 20))
r.close()
XX
gcc -g -O1 -no-pie -o t t.c || skip 'no compiler for x86-64'
"$REC" -o trace ./t || fail 'rec'
export HINDSIGHT_PROGRESS=1
timeout 60 python3 go.py "$ROOT" "$REPLAY" trace "$(nm t | awk '$3 == "finish" { print $1 }')" >out 2>err.out || fail "exit $?: $(tail -3 err.out)"
grep -qE '^still going back, now at event [0-9]+, after [0-9]+ s \(\^C stops it\)$' out || fail "no progress: $(head -3 out)"
tail -1 out | grep -qE '^T0[25] 0$' || fail "^C: $(tail -1 out)"
