#!/bin/bash
# hindsight memprof of a C program whose stacks do not all go back to where a thread starts: it speaks of native stacks, not of those of a language,
# which there is none.
. "$LIB"
need cc
need python3
cd "$TMP" || exit 1
cat >p.c <<'X'
#include <stdlib.h>
#include <ucontext.h>
static ucontext_t back, there;
static void *kept[8];
static void work(void)
{
	for (int i = 0; i < 8; i++)
		kept[i] = malloc(100 + i);
}
/* Code without unwind information, whose frame cannot be told from its instructions either. */
void blind(void (*fn)(void));
__asm__(".globl blind\nblind:\n\tpush %rbx\n\tmov %rsp, %rbx\n\tsub $4000, %rsp\n\tand $-1024, %rsp\n\tcall *%rdi\n\tmov %rbx, %rsp\n\tpop %rbx\n\tret\n"
	".section .note.GNU-stack,\"\",@progbits\n.text\n");
int main(void)
{
	static char stack[65536];

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &back;
	makecontext(&there, work, 0);
	swapcontext(&back, &there);
	blind(work);
	return 0;
}
X
cc -g -O0 -o p p.c || fail cc
"$REC" -o t ./p || fail rec
"$HINDSIGHT" memprof -q t >out 2>err || fail "memprof: $(cat err)"
grep 'of the language' out && fail 'there is no language'
"$HINDSIGHT" memprof -q --json t >json 2>err || fail "memprof --json: $(cat err)"
n=$(python3 -c 'import json; j = json.load(open("json")); print(j["incomplete_native_stacks"] if j["incomplete_stacks"] == 0 else "none")')
[ "$n" -ge 1 ] 2>/dev/null || fail "incomplete native stacks: $n"
grep -qE "^$n native stacks? do(es)? not go back" out || fail "it does not say so: $(tail -1 out)"
