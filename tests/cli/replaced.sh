#!/bin/bash
# test: timeout=90
# The recorded program and its library are changed, replaced and deleted before the replay.
. "$LIB"
need gcc
lib() { echo "int value(void) { return $1; } static const char pad[10000] = {1};" > l.c; gcc -shared -fPIC -o "$2" l.c || fail 'gcc failed'; }
lib 42 libv.so
printf '#include <stdio.h>\n#include <dlfcn.h>\nint value(void);\nint main(void) { printf("%%d\\n", value()); void *h = dlopen("./plug.so", RTLD_NOW); printf("%%d\\n", ((int (*)(void))dlsym(h, "value"))()); return value() - 30; }\n' > m.c
lib 43 plug.so
gcc -o m m.c -L. -lv -Wl,-rpath,"$PWD" -ldl || fail 'gcc failed'
./m > want
exits 12 rec "$REC" --checksum -o t ./m
same 'the recording' want "$TMP/out"
again() { exits 12 "$1" "$REPLAY" -a t; same "$1" want "$TMP/out"; }
again 'nothing changed'
lib 50 new.so; mv new.so libv.so; lib 51 plug.so
again 'the libraries replaced'
cp /bin/true m2 && mv m2 m
again 'the program replaced'
dd if=/dev/urandom of=libv.so bs=1000 count=10 conv=notrunc 2>/dev/null
again 'the library overwritten in place'
rm -f m libv.so plug.so
again 'all deleted'
# Overwritten in place while nobody looks: the copy in the trace must not be the same inode.
lib 42 libv.so; lib 43 plug.so; gcc -o m m.c -L. -lv -Wl,-rpath,"$PWD" -ldl
rm -rf t; exits 12 'rec again' "$REC" --checksum -o t ./m
for f in m libv.so plug.so; do dd if=/dev/zero of=$f bs=4096 count=4 conv=notrunc 2>/dev/null; done
again 'overwritten in place'
for f in m libv.so plug.so; do : > $f; done
again 'truncated in place'
# Data files too.
seq 1000 > data; rm -rf t; exits 0 'rec of cat' "$REC" -o t cat data; seq 5 > data
exits 0 'replay of cat' "$REPLAY" -a t
[ "$(wc -l < "$TMP/out")" = 1000 ] || fail 'the replay read the new file'
