#!/bin/bash
# test: timeout=60
# A script that is started with a long name of its own: the kernel takes that off the new stack again, and what is left of it below the stack's
# pointer is in the recording, too.
. "$LIB"
need gcc
cat >t.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	size_t n = argc > 1 ? (size_t)atol(argv[1]) : 0;
	char *name = malloc(n + 1), *args[] = { name, NULL }, *env[] = { NULL };

	memset(name, 'A', n);
	name[n] = '\0';
	execve("./script", args, env);
	return 1;
}
C
cat >look.c <<'C'
#include <stdio.h>
int main(int argc, char **argv)
{
	const volatile char *at = (const char *)&argc;
	long found = 0;

	for (long i = 0; i < 125000; i++)	/* below main(): nobody has written there since the exec */
		found += at[-i] == 'A';
	printf("%d %s %ld\n", argc, argv[argc - 1], found);
	return 0;
}
C
gcc -O0 -o t t.c && gcc -O0 -fno-stack-protector -o look look.c || skip 'no compiler'
printf '#!%s/look\n' "$PWD" >script
chmod +x script
for n in 10 5000 120000; do
	"$REC" --checksum -o "$TMP/t$n" ./t $n >"$TMP/rec.out" || fail "$n: rec: exit $?"
	"$REPLAY" -a "$TMP/t$n" >"$TMP/replay.out" || fail "$n: replay: exit $?"
	cmp "$TMP/rec.out" "$TMP/replay.out" || fail "$n: other output"
done
