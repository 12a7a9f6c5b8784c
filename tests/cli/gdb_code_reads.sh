#!/bin/bash
# test: timeout=60
# A breakpoint on an instruction that reads what is watched, on the page that it reads, time and again, by several threads:
# each pass is a stop, forwards and, from the end, backwards.
. "$LIB"
need gcc gdb
cat >t.c <<'XX'
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
long *k;
unsigned char *code;
void __attribute__((noinline)) begin(void) { __asm__ volatile(""); }
void __attribute__((noinline)) end(void) { __asm__ volatile(""); }
static void *work(void *arg)
{
	long s = (long)arg;

	for (int i = 0; i < 5; i++)
		s += ((long (*)(long *))(unsigned long)code)(k);
	return (void *)s;
}
int main(void)
{
	pthread_t t[2];

	code = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	k = (long *)(code + 2048);
	/* mov (%rdi),%rax; add 8(%rdi),%rax; add 16(%rdi),%rax; ret */
	memcpy(code, "\x48\x8b\x07\x48\x03\x47\x08\x48\x03\x47\x10\xc3", 12);
	begin();
	work(0);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	end();
	return 0;
}
XX
gcc -g -O1 -o t t.c -pthread || skip 'no compiler'
"$REC" -o trace ./t >said || fail 'rec'
{
	printf 'set pagination off\nbreak begin\nbreak end\ncontinue\nset $k = k\ndelete 1\n'
	for i in 0 1 2 3 4 5; do echo "rwatch *(long *)(\$k + $i)"; done
	printf 'break *code\nbreak *(code + 3)\n'
	for i in {1..61}; do printf 'continue\n'; done
	printf 'echo ---\\n\nseek end\n'
	for i in {1..46}; do printf 'reverse-continue\n'; done
} >go.gdb
timeout 50 "$REPLAY" -x go.gdb --batch trace >out 2>err </dev/null || fail "exit $?: $(tail -2 out err)"
# count PART WHAT - in the first part, or the second
count() { awk -v part="$1" '/^---$/ { p = 1 } p == part' out | grep -cE "$2"; }
for part in 0 1; do
	for what in '^(Thread .* hit )?Breakpoint 9, ' '^(Thread .* hit )?Breakpoint 10, ' '^(Thread .* hit )?Hardware read watchpoint 3: ' \
		'^(Thread .* hit )?Hardware read watchpoint 4: ' '^(Thread .* hit )?Hardware read watchpoint 5: '; do
		n=$(count $part "$what")
		[ $part = 0 ] && [[ $what = *watchpoint* ]] && n=$((n - 1))	# gdb said it when it was set
		[ "$n" = 15 ] || fail "part $part: $n of 15 $what: $(tail -5 out)"
	done
done
