#!/bin/bash
# test: timeout=200
# HotSpot writes its perf map when it ends: a profile has its methods' names all the same, from when they were compiled.
. "$LIB"
need java javac
cat >J.java <<'X2'
public class J {
	static int collatz(long n) { int k = 0; while (n != 1) { n = n % 2 == 0 ? n / 2 : 3 * n + 1; k++; } return k; }
	public static void main(String[] a) { long s = 0; for (int i = 1; i < 2000000; i++) s += collatz(i); System.out.println(s); }
}
X2
javac J.java || skip 'javac does not work'
"$REC" -o t java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -cp . J >out 2>err || skip "this java does not: $(tail -1 out)"
"$HINDSIGHT" profile --json t >p.json 2>err || fail "profile: exit $?: $(tail -1 err)"
"$HINDSIGHT" profile t >text 2>err || fail "profile: exit $?"
"$HINDSIGHT" jit -q --history t >list || fail 'jit'
last=$("$HINDSIGHT" info t | sed -n 's/^length .* \([0-9]*\) events/\1/p')
[ "$(awk '/int J.collatz\(long\)/ { print $1; exit }' list)" -lt $((last - last / 20)) ] || fail "$(grep collatz list | head -2 | tr '\n' '|') of $last events"
# collatz() is inlined in places
awk '/line$/ { exit } / (int|void) J\./ { sum += $1 } END { exit !(sum > 35) }' text || fail "$(sed -n 3,8p text | tr '\n' '|')"
