#!/bin/bash
# test: timeout=120
# Out of C++ functions without line information, backwards: their names have blanks.  Step by step that took minutes.
. "$LIB"
need gdb g++
cat >t.cc <<'EOF2'
#include <cstdio>
namespace parts {
template <typename T> __attribute__((noinline)) T sum(T from, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		from = from * 3 + i;
	return from;
}
}
int main()
{
	unsigned long x = parts::sum<unsigned long>(1, 100000);
	printf("%lu\n", x);
	return 0;
}
EOF2
g++ -O1 -no-pie -o t t.cc || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'

turn=$(objdump -d --no-show-raw-insn t | awk '/<_ZN5parts3sum.*>:/ { f = 1 } f && $2 == "jne" { print $3; exit }')
sum=$(nm t | grep -o '_ZN5parts3sum.*') || fail 'no function'
cat >script <<EOF2
break $sum
continue
delete
python import re
python event = re.search(r"event (\d+)", gdb.execute("when", to_string=True)).group(1)
python gdb.execute("seek %s:%xx60000" % (event, 0x$turn))
python import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent; start = spent()
reverse-next
python print("next: %s in %s" % ("quick" if spent() - start < 20 else "slow", gdb.newest_frame().name()))
x/i \$pc
python gdb.execute("seek %s:%xx70000" % (event, 0x$turn))
python start = spent()
reverse-finish
python print("finish: %s in %s" % ("quick" if spent() - start < 20 else "slow", gdb.newest_frame().name()))
EOF2
timeout 100 "$REPLAY" --batch -x script "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
for want in '^next: quick in main' '=> .*call.*sum' '^finish: quick in main'; do
	grep -aqE -- "$want" "$TMP/out" || fail "no '$want' in: $(tail -12 "$TMP/out" | tr '\n' '|' | cut -c1-900)"
done
