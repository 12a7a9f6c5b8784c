#!/bin/bash
# test: timeout=600
# Traces travel: what one kind of machine recorded with --cpu=x86-64-v3, another one replays, all memory compared, forwards and backwards:
# a maker's name, features, layout of the XSAVE area, whether cpuid and rdtsc can be made to trap, and undefined flags differ (HINDSIGHT_CPU).
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs rec'
need gcc
grep -qw avx2 /proc/cpuinfo || skip 'needs a CPU with avx2'
kinds=('intel' 'amd,nocpuid' 'amd,nocpuid,notsc,flags')
cat >vector.c <<'E2'
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
static volatile int hits;
static void on(int s) { (void)s; hits++; }
__attribute__((target("avx2,fma"))) static void *work(void *p)
{
	static double out[4];
	__m256d a = _mm256_set1_pd((double)(uintptr_t)p), s = _mm256_setzero_pd();

	for (int i = 0; i < 3000000; i++) {
		s = _mm256_fmadd_pd(a, _mm256_set1_pd(1.0 / (i + 1)), s);
		if (i % 1000 == 0)
			a = _mm256_permute4x64_pd(a, 0x39);
	}
	double d[4];
	_mm256_storeu_pd(d, s);
	out[(uintptr_t)p] = d[0] + d[1] + d[2] + d[3];
	return &out[(uintptr_t)p];
}
int main(void)
{
	pthread_t t[3];
	void *r;

	signal(SIGALRM, on);
	ualarm(2000, 2000);
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &r);
		printf("%.10f\n", *(double *)r);
	}
	return hits == 0;
}
E2
sed -i 's/static double out\[4\]/static double out[8]/' vector.c
gcc -O2 -o vector vector.c -lpthread || fail 'gcc'
cat >T.java <<'E2'
import java.util.*;
public class T { public static void main(String[] a) { Map<Integer, Integer> m = new HashMap<>(); long s = 0;
	for (int i = 0; i < 300000; i++) { m.merge(i % 1000, 1, Integer::sum); s += i * 31L; } System.out.println(m.size() + " " + s); } }
E2
cat >g.go <<'E2'
package main
import ("crypto/sha256"; "fmt"; "sync")
func main() {
	var wg sync.WaitGroup; var mu sync.Mutex; n := 0
	for i := 0; i < 8; i++ { wg.Add(1); go func(k int) { defer wg.Done(); h := sha256.Sum256(make([]byte, 100000*k)); mu.Lock(); n += int(h[0]); mu.Unlock() }(i) }
	wg.Wait(); fmt.Println(n)
}
E2
tried=0 left_out=
# travels NAME COMMAND... - recorded on each kind, replayed on the others
travels() {
	local name=$1 from to rc; shift
	command -v "$1" >/dev/null || { left_out="$left_out $name"; return 0; }
	tried=$((tried + 1))
	for from in "${kinds[@]}"; do
		[ "$name" = vector ] || [ "$from" != "${kinds[1]}" ] || continue
		rm -rf t
		HINDSIGHT_CPU=$from timeout 100 "$REC" --cpu=x86-64-v3 --checksum -o t -- "$@" >rec.out 2>rec.err </dev/null; rc=$?
		[ $rc = 0 ] || fail "$name on $from: exit $rc: $(tail -1 rec.err)"
		for to in "${kinds[@]}"; do
			[ "$to" != "$from" ] || continue
			HINDSIGHT_CPU=$to timeout 100 "$REPLAY" -a t >replay.out 2>replay.err </dev/null || fail "$name from $from on $to: exit $?: $(tail -1 replay.err)"
			same "$name from $from on $to: stdout" rec.out replay.out
		done
		[ "$from" != "${kinds[1]}" ] || continue
		to=${kinds[2]}; [ "$from" != "$to" ] || to=${kinds[0]}
		if command -v gdb >/dev/null; then
			HINDSIGHT_CPU=$to timeout 200 "$REPLAY" --batch --ex 'handle all nostop noprint pass' --ex 'seek end' --ex 'reverse-stepi' --ex 'reverse-stepi' \
				--ex 'stepi' --ex 'print/x $pc' --ex 'seek 1' --ex 'print/x $pc' t >gdb.out 2>&1 </dev/null || fail "$name from $from under gdb on $to: exit $?: $(tail -1 gdb.out)"
			! grep -q diverged gdb.out && [ "$(grep -c '^\$[12] = 0x' gdb.out)" = 2 ] || fail "$name from $from backwards on $to: $(tail -2 gdb.out | tr '\n' '|')"
		fi
	done
}
travels vector ./vector
travels shell sh -c 'ls / | wc -l; for i in 1 2 3; do date >/dev/null; done; echo $(expr 2 + 3)'
travels python3 python3 -c 'import json, hashlib; print(hashlib.sha256(json.dumps(list(range(100000))).encode()).hexdigest())'
travels sqlite3 sqlite3 :memory: 'create table t(a); with recursive c(x) as (select 1 union all select x+1 from c where x<50000) insert into t select x from c; select sum(a) from t;'
travels node node -e 'let s=0;for(let i=0;i<3e6;i++)s+=Math.sqrt(i);console.log(s, JSON.stringify([1,2,{a:3}]))'
if command -v go >/dev/null && GO111MODULE=off GOCACHE=$TMP/go go build -o g g.go 2>/dev/null; then travels go ./g; else left_out="$left_out go"; fi

if command -v javac >/dev/null && javac T.java 2>/dev/null; then travels java java -cp . T; else left_out="$left_out java"; fi
[ -z "$left_out" ] || echo "left out, not installed:$left_out" >&2
[ $tried -ge 3 ] || skip "left out, not installed:$left_out"
