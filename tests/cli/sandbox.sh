#!/bin/bash
# test: timeout=180
# In Docker's default sandbox (sandbox.c), without capabilities, as an ordinary user: records and replays the same.
. "$LIB"
sb=$BUILD/tests/cli/sandbox
[ -x "$sb" ] || skip "$(cat "$sb.skip" 2>/dev/null || echo not built)"
mkdir box; chmod 777 "$TMP" "$TMP/cwd" box; chmod 711 "$TMP" 2>/dev/null
d=$TMP; while [ "$d" != / ]; do d=${d%/*}; d=${d:-/}; [ "$(stat -c %A "$d" | cut -c10 | tr t x)" = x ] || skip "$d is closed to others"; done
cp "$REC" "$REPLAY" "$HINDSIGHT" "$sb" box/
for p in thread_16 fork_wait4 signal_restart mmap_shared_fork vdso_calls cpu_rdtsc cpu_cpuid socket_pair exec_static process_vm futex_pingpong signal_segv_longjmp; do
	[ -x "$BUILD/tests/prog/$p" ] && cp "$BUILD/tests/prog/$p" box/
done
chmod 755 box/*; cd box || exit 1
export HOME=$PWD HINDSIGHT_TRACE_DIR=$PWD/traces
./sandbox true || skip "the sandbox cannot be set up: $(./sandbox true 2>&1 | head -1)"
./sandbox sh -c 'grep -q "^Seccomp:.2" /proc/self/status && grep -q "^CapEff:.0*$" /proc/self/status' || fail 'the sandbox is none'
try() {
	local name=$1 rc rc0; shift
	mkdir -p w && chmod 777 w
	(cd w && ../sandbox "$@") > plain.out 2> plain.err </dev/null; rc0=$?
	[ $rc0 != 77 ] || { echo "$name: skipped in the sandbox"; return; }
	(cd w && ../sandbox ../rec --checksum -o "../t-$name" -- "$@") > rec.out 2> rec.err </dev/null; rc=$?
	[ $rc = $rc0 ] || fail "$name: rec exited $rc, plain $rc0: $(tail -1 rec.err)"
	[ ! -s rec.err ] || [ -s plain.err ] || fail "$name: rec said: $(head -1 rec.err)"
	for i in 1 2; do
		./sandbox ./replay -a "t-$name" > rep.out 2> rep.err </dev/null; rc=$?
		[ $rc = $rc0 ] || fail "$name: replay exited $rc: $(tail -1 rep.err)"
		same "$name: replay" rec.out rep.out
	done
}
chmod 777 .
for p in thread_16 fork_wait4 signal_restart mmap_shared_fork vdso_calls cpu_rdtsc cpu_cpuid socket_pair exec_static process_vm futex_pingpong signal_segv_longjmp; do
	[ -x $p ] && try $p "$PWD/$p"
done
try bash bash -c 'for i in 1 2 3; do echo $i | cat; done; exit 4'
try python /usr/bin/python3 -c 'import threading, subprocess; print(subprocess.run(["echo", "x"], capture_output=True).stdout); [threading.Thread(target=print, args=(i,)).start() for i in range(3)]'
