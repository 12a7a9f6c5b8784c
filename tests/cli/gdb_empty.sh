#!/bin/bash
# test: timeout=120
# What a search backwards has looked through is known for the same breakpoints, and for no others; libraries that a move back leaves are gone.
. "$LIB"
need gdb gcc
cat >l.c <<'EOF2'
int in_lib(int x) { return x + 1; }
EOF2
cat >t.c <<'EOF2'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
volatile unsigned long sum, turns;
__attribute__((noinline)) void rare(int i) { sum += i; }
__attribute__((noinline)) void often(unsigned long i) { turns = i; }
static void phase(void)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < 30000; i++) {
		for (int k = 0; k < 10000; k++)
			x = x * 6364136223846793005ul + 1442695040888963407ul;
		often(i);
		sum += x;
	}
}
int main(int argc, char **argv)
{
	void *l;

	rare(1);
	rare(2);
	phase();
	l = dlopen(argv[argc - 1], RTLD_NOW);
	phase();
	dlclose(l);
	l = dlopen(argv[argc - 1], RTLD_NOW);
	phase();
	return !l;
}
EOF2
gcc -g -shared -fPIC -o l.so l.c && gcc -O1 -g -o t t.c -ldl || skip 'no compiler'
# gdb looks at the list at the end of an unloading, and before a loading only when there is one before that
"$REC" -o "$TMP/t" ./t "$PWD/l.so" || fail 'rec'
cat >script <<'EOF2'
python
import re; import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
def back(what):
    t = spent()
    gdb.execute('reverse-continue', to_string=True)
    took = spent() - t
    frame = gdb.newest_frame()
    print('%s: %s %s' % (what, frame.name(), frame.read_var('i') if frame.name() in ('rare', 'often') else ''), flush=True)
    return took
gdb.execute('seek end', to_string=True)
gdb.execute('break rare')
first = back('first')
print('l.so: %s' % ('l.so' in gdb.execute('info sharedlibrary', to_string=True)))
back('before')
gdb.execute('seek end', to_string=True)
second = back('again')
gdb.execute('break often if i == 29990')
gdb.execute('seek end', to_string=True)
for i in range(4):
    back('often')
gdb.execute('delete 2')
gdb.execute('seek end', to_string=True)
third = back('without')
gdb.execute('seek end', to_string=True)
gdb.execute('watch turns')
back('watch')
back('watch')
gdb.execute('delete 3')
gdb.execute('seek end', to_string=True)
gdb.execute('catch unload')
back('unload')
print('l.so: %s' % ('l.so' in gdb.execute('info sharedlibrary', to_string=True)))
back('unload')
print('quick: %s, %.2f %.2f %.2f s' % (second < first / 2 and third < first / 2, first, second, third))
end
EOF2
timeout 100 "$REPLAY" --batch -x script "$TMP/t" >gdb.out 2>&1 </dev/null || fail "replay: exit $?: $(tail -3 gdb.out)"
said=$(grep -E '^(first|before|again|often|without|watch|unload|l\.so|quick): ' gdb.out)
echo "$said" | sed 's/True, .* s$/True/; s/ [_GI]*_dl_debug_state / _dl_debug_state /' >said
cat >expected <<'EOF2'
first: rare 2
l.so: False
before: rare 1
again: rare 2
often: often 29990
often: often 29990
often: often 29990
often: rare 2
without: rare 2
watch: often 29999
watch: often 29998
unload: _dl_debug_state 
l.so: False
unload: rare 2
quick: True
EOF2
cmp said expected || fail "$(diff said expected) $said"
