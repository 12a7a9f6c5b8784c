#!/bin/bash
# test: timeout=300
# make -j2 of a 40-file C project with gcc: the binary is that of a plain run, and runs.
. "$LIB"
need make gcc
mkdir "$TMP/src"; cd "$TMP/src" || exit 1
{ echo 'OBJ := $(patsubst %.c,%.o,$(sort $(wildcard *.c)))'; echo 'all: prog'; echo 'prog: $(OBJ); @gcc -o $@ $(OBJ)'
  echo '%.o: %.c all.h; @gcc -O1 -c -o $@ $<'; } > Makefile
echo '#pragma once' > all.h
for i in $(seq 39); do
	echo "int f$i(int);" >> all.h
	printf '#include <stdio.h>\n#include <string.h>\n#include "all.h"\nint f%d(int x) { char b[64]; snprintf(b, sizeof b, "%%d", x + %d); return (int)strlen(b) + x; }\n' "$i" "$i" > "f$i.c"
done
{ printf '#include <stdio.h>\n#include "all.h"\nint main(void) { int s = 0;\n'; for i in $(seq 39); do echo "s += f$i($i);"; done; echo 'printf("%d\n", s); return 0; }'; } > main.c
mkdir "$TMP/plain" "$TMP/rec"; cp ./* "$TMP/plain"; cp ./* "$TMP/rec"
both bash -c 'make -j2 && ./prog'
same_files
