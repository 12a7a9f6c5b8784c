#!/bin/bash
# test: timeout=180
# hindsight profile: code that a program makes itself has the names it told in a perf map, each at its time; what was found so far comes on stderr.
. "$LIB"
need gcc python3
cat >jit.c <<'X'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* push rbp; mov rsp,rbp; mov edi,ecx; 1: dec rcx; jne 1b; pop rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3 };

static void tell(void *at, const char *name)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "perf-%d.map", getpid());
	f = fopen(path, "a");
	fprintf(f, "%lx %zx %s\n", (unsigned long)at, sizeof(code), name);
	fclose(f);
}

int main(int argc, char **argv)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned n = (unsigned)atoi(argv[argc - 1]);
	void (*run)(unsigned) = (void (*)(unsigned))(uintptr_t)p, (*other)(unsigned) = (void (*)(unsigned))(uintptr_t)(p + 4096);

	memcpy(p, code, sizeof(code));
	memcpy(p + 4096, code, sizeof(code));
	tell(p + 4096, "made_other");
	/*
	 * The same place means one function and then another; calls that events are made of, as
	 * compilers make them.  In turns, since a busy processor is slower at one time than at another.
	 */
	for (int turn = 0; turn < 5; turn++) {
		tell(p, "made_first");
		mprotect(p, 4096, PROT_READ | PROT_EXEC);
		for (int i = 0; i < 10; i++) {
			run(4 * n);
			other(2 * n);
		}
		mprotect(p, 4096, PROT_READ | PROT_WRITE);
		tell(p, "made_later");
		mprotect(p, 4096, PROT_READ | PROT_EXEC);
		for (int i = 0; i < 10; i++)
			run(4 * n);
		mprotect(p, 4096, PROT_READ | PROT_WRITE);
	}
	return 0;
}
X
gcc -g -O1 -o jit jit.c || fail gcc
"$REC" -o t ./jit 300000 >/dev/null || fail rec
# the same bytes in the same place: each name from where it was told on (the first may be dated by its code), up to the next
"$HINDSIGHT" jit -q --history t >list || fail 'jit'
awk '/made_(first|later)/ { if (n++ && ($1 != death || $NF == name)) exit 1; death = $2; name = $NF } END { exit n != 10 }' list || fail "names: $(cat list)"
cat >check.py <<'X'
import json
d = json.load(open('found'))
all_ = sum(s['count'] for s in d['stacks'])
share, main = {}, 0
for s in d['stacks']:
    leaf = d['frames'][s['frames'][-1]]['function']
    share[leaf] = share.get(leaf, 0) + 100 * s['count'] / all_
    main += 'main' in [d['frames'][f]['function'] for f in s['frames']] and s['count']
chance = 3.5 * 100 * (.25 / d['stops']) ** .5
for name, want in ('made_first', 40), ('made_other', 20), ('made_later', 40):
    assert abs(share.get(name, 0) - want) < 2 + chance, (share, d['stops'])
assert main > .95 * all_, (main, all_)
X
# beside others the processor's speed is not the same all the time: one of three samplings
for turn in 1 2 3; do
	"$HINDSIGHT" profile --passes=2 --rate=4000 --json t >found 2>said || fail "profile: $(cat said)"
	python3 check.py >wrong 2>&1 && break
	[ $turn = 3 ] && fail "$(tail -1 wrong)"
done
# a profile that takes more than a second says what was found so far, and nothing else
! grep -Ev '^(pass [12] of 2: [0-9]+% of the events, [0-9]+ samples so far: .+ [0-9]+%|names of code that the program made itself: one more replay$)' said || fail "interim: $(cat said)"
