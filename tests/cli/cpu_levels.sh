#!/bin/bash
# test: timeout=120
# rec --cpu=LEVEL: cpuid, xgetbv, xsave, xrstor, the auxiliary vector and the loader show the level and nothing else; a refusal names the feature and
# what to record with; what trapped in the recording is marked where it cannot be made to trap.
. "$LIB"
need gcc
grep -qw avx2 /proc/cpuinfo || skip 'needs a CPU with avx2'
cat >p.c <<'E2'
#include <cpuid.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
static unsigned char area[16384] __attribute__((aligned(64)));
int main(void)
{
	unsigned a, b, c, d, lo = 0, hi = 0, i;
	unsigned long long bv;
	__cpuid_count(1, 0, a, b, c, d);
	printf("avx %u xsave %u aes %u\n", c >> 28 & 1, c >> 26 & 1, c >> 25 & 1);
	__cpuid_count(7, 0, a, b, c, d);
	printf("leaf 7: %u %u %x %x %u\n", b >> 5 & 1, b >> 16 & 1, c, d, a);
	printf("hwcap2 %lx\n", getauxval(AT_HWCAP2));
	__cpuid_count(0xd, 0, a, b, c, d);
	printf("leaf d: %x %u\n", a, b);
	if (!a)
		return 0;
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	printf("xcr0 %x %x\n", lo, hi);
	for (unsigned all = 0; all < 2; all++) {
		memset(area, 0x55, sizeof(area));
		memset(area + 512, 0, 64);
		__asm__ volatile("vpcmpeqd %%ymm7, %%ymm7, %%ymm7\n\tvpcmpeqd %%xmm15, %%xmm15, %%xmm15\n\txsave %0" : "+m"(area) : "a"(all ? -1 : 2), "d"(all ? -1 : 0) : "xmm7", "xmm15", "memory");
		memcpy(&bv, area + 512, 8);
		for (i = b; i < sizeof(area) && area[i] == 0x55; i++)
			;
		printf("xsave: %llx, %x %x, %s\n", bv, area[160 + 7 * 16], area[576 + 7 * 16], i == sizeof(area) ? "no more" : "more");
		__asm__ volatile("vpxor %%ymm7, %%ymm7, %%ymm7\n\txrstor 64(%1, %2, 2)\n\tvmovdqu %%ymm7, %0" : "=m"(area[8192]) : "r"(area - 192), "r"(64l), "a"(-1), "d"(-1) : "xmm7", "xmm15", "memory");
		printf("xrstor: %x %x\n", area[8192], area[8192 + 31]);
	}
	return 0;
}
E2
gcc -O1 -w -o p p.c || fail gcc
shows() {	# shows LEVEL - what p says
	rm -rf t
	exits 0 "rec --cpu=$1" "$REC" --checksum --cpu="$1" -o t ./p
	cp "$TMP/out" said
	for here in '' amd,nocpuid,notsc,flags; do
		HINDSIGHT_CPU=$here exits 0 "replay of $1 on '$here'" "$REPLAY" -a t
		same "replay of $1 on '$here'" said "$TMP/out"
	done
}
shows x86-64-v2
cat >want <<'E2'
avx 0 xsave 0 aes 0
leaf 7: 0 0 0 0 0
hwcap2 0
leaf d: 0 0
E2
same v2 want said
shows x86-64-v3
cat >want <<'E2'
avx 1 xsave 1 aes 0
leaf 7: 1 0 0 0 0
hwcap2 0
leaf d: 7 832
xcr0 7 0
xsave: 2, ff 55, no more
xrstor: ff 0
xsave: 6, ff ff, no more
xrstor: ff ff
E2
same v3 want said
# The C library's loader, where it says.
ld=/lib64/ld-linux-x86-64.so.2
if $ld --help 2>/dev/null | grep -q 'x86-64-v3 (supported'; then
	for l in v2 v3; do
		rm -rf t
		"$REC" --cpu=x86-64-$l -o t $ld --help >out || fail "$ld: $?"
		grep -q "x86-64-$l (supported" out || fail "the loader does not see $l"
		! grep -q "x86-64-v$((${l#v} + 1)) (supported" out || fail "the loader sees more than $l"
	done
fi
fails 'a level that is none' "$REC" --cpu=x86-64-v9 -o u true
# This machine's own features are not those of the other maker; one that none of a program can use does not matter.
rm -rf t
HINDSIGHT_CPU=intel "$REC" --checksum -o t ./p >said || fail 'rec on intel'
if grep -qw avx512_fp16 /proc/cpuinfo; then
	HINDSIGHT_CPU=amd fails 'a feature of one maker' "$REPLAY" -a t
	grep -q 'AVX512_FP16.*--cpu=x86-64-v4' "$TMP/err" || fail "the refusal says: $(cat "$TMP/err")"
fi
for here in '' nocpuid notsc nocpuid,notsc flags; do
	HINDSIGHT_CPU=$here exits 0 "replay on '$here'" "$REPLAY" -a t
	same "replay on '$here'" said "$TMP/out"
done
