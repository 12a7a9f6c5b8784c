#!/bin/bash
# test: timeout=120
# Leaks of a program that maps a file and writes to it later, as V8 does with its jitdump file: going to and fro past the first write, replay
# knows at each place whether the file changes yet.
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs a recording'
need gcc python3
cat >p.c <<'X2'
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static __attribute__((noinline)) void lose(int n)
{
	for (int i = 0; i < n; i++) {
		char *volatile p = malloc(100 + (size_t)i);

		p[0] = 1;
		p = NULL;
	}
}

int main(int argc, char **argv)
{
	char page[4096], *m[2];
	unsigned sum = 0;
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0644);

	(void)argc;
	memset(page, 1, sizeof(page));
	if (argv[1][0] == 'f' && write(fd, page, sizeof(page)) != sizeof(page))	/* full, or empty as V8's */
		return 1;
	m[0] = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	lose(20);
	for (int k = 0; k < 10; k++) {
		memset(page, k + 2, sizeof(page));
		lose(5);
		if (write(fd, page, sizeof(page)) != sizeof(page))
			return 1;
		lose(5);
		sum += (unsigned)m[0][100];
	}
	m[1] = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 4096);
	printf("sum %u %d\n", sum, m[1][0]);
	lose(5);
	return 0;
}
X2
gcc -g -O1 -o p p.c || fail gcc
for how in full empty; do
	"$REC" --checksum -o t ./p $how >out || fail "rec $how"
	"$REPLAY" -a t >again && cmp out again || fail "replay $how"
	"$HINDSIGHT" leaks -q --json t >list 2>err || fail "$how: $(cat err)"
	python3 - <<'X2' || fail "$how: leaks"
import json
leaks = [l for l in json.load(open("list"))["leaks"] if l["kind"] == "lost"]
assert sum(l["blocks"] for l in leaks) >= 120, leaks
assert all(l["lost_at"] and l["lost_at"]["stack"][0]["function"] == "lose" for l in leaks), leaks
X2
	rm -rf t
done
exit 0
