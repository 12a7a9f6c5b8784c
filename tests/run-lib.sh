# run-lib.sh - sourced by tests/real/*.sh and tests/cli/*.sh as: . "$LIB"
# The runner sets TMP (empty, ours), BUILD, ROOT, REC, REPLAY, HINDSIGHT, PLAIN, REAL_REPLAYS.
# shellcheck shell=bash
set -u
: "${REAL_REPLAYS:=2}"
# Limits are against hangs.  Where others keep the processors busy, everything takes as much longer: by how many runnable tasks share one.
busy() { local l n; read -r l _ </proc/loadavg; n=$(nproc); n=$(((${l%.*} + n) / n)); echo $((n > 6 ? 6 : n)); }
BUSY=$(busy) RATE=${TIMEOUT_SCALE:-1}
RATE=$((${RATE%.*} * BUSY))

skip() { echo "$*"; exit 77; }
fail() {
	local hung=
	[ ! -s "$TMP/stuck" ] || hung="; hung: $(tr '\n' '|' <"$TMP/stuck" | cut -c1-4000)"
	echo "$*$hung" >&2; exit 1
}
need() { for c; do command -v "$c" >/dev/null || skip "$c is not installed"; done; }

# As timeout(1); what is still there a second before goes to $TMP/stuck: a hang that only CI sees.
timeout() {
	case $1 in -*) command timeout "$@"; return ;; esac
	local limit=$1 rc job watcher; shift
	[ "${limit%.*}" -lt 20 ] || limit=$((limit * BUSY))
	command timeout "$limit" "$@" <&0 & job=$!
	(
		trap 'kill $! 2>/dev/null; exit' TERM
		sleep $((limit - 1)) & wait
		stuck $job >>"$TMP/stuck"
	) </dev/null >/dev/null 2>&1 & watcher=$!
	wait $job; rc=$?
	kill $watcher 2>/dev/null; wait $watcher 2>/dev/null
	return $rc
}
stuck() {	# stuck PID - what it and its children do
	local p
	for p in $(pgrep -P "$1"); do
		echo "$(ps -o pid=,stat=,psr=,time=,wchan:24=,args= -p "$p" | cut -c1-150)"
		case $(ps -o stat= -p "$p") in t*|T*|Z*) continue ;; esac
		command timeout 20 gdb -nx -batch -ex 'bt 16' -p "$p" 2>/dev/null </dev/null | grep -a '^#' | cut -c1-150 | cut -d ' ' -f 1,4- 
		stuck "$p"
	done
}

# A port of 127.0.0.1 that is free now and that no other test picks: below the ephemeral range,
# chosen from our process id.
free_port() {
	local p i
	for i in $(seq 50); do
		p=$((10000 + ($$ * 7 + i * 13) % 20000))
		(exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return; }
	done
	fail 'no free port'
}

# wait_for SECONDS COMMAND... - until COMMAND succeeds
wait_for() {
	local end=$((SECONDS + $1 * BUSY)); shift
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
		read -rt 0.05 <> <(:) || :
	done
}

# run_to_end SECONDS NAME COMMAND... - what may hang beyond any timeout(1): output in NAME.out and NAME.err; its status.  Where it does not
# end, the test's own `hung NAME` frees what is stuck and says more.
run_to_end() {
	local seconds=$1 name=$2; shift 2; rm -f ended
	( "$@" > "$name.out" 2> "$name.err" & echo $! > pid; wait $!; echo $? > ended ) &
	wait_for "$seconds" test -s ended || fail "$name hangs: $(hung "$name")"
	wait; rm -f pid
	return "$(cat ended)"
}

# to_end_as_plain SECONDS COMMAND... - recorded and replayed twice, with the output that is in plain.out
to_end_as_plain() {
	local seconds=$1 i; shift
	for i in 1 2; do
		rm -rf t
		run_to_end "$seconds" rec "$REC" -o t "$@" || fail "rec says $(cat ended): $(cat rec.out; tail -3 rec.err)"
		cmp plain.out rec.out || fail "the program said: $(cat rec.out rec.err)"
		timeout 60 "$REPLAY" -a t > replay.out 2> replay.err || fail "replay: $(tail -2 replay.err)"
		cmp plain.out replay.out || fail 'replay says something else'
	done
}

# plain COMMAND... - in $TMP/plain, to plain.out, plain.err, plain.rc
plain() {
	mkdir -p "$TMP/plain"
	(cd "$TMP/plain" && exec "$@" >"$TMP/plain.out" 2>"$TMP/plain.err" </dev/null)
	echo $? >"$TMP/plain.rc"
}

# record COMMAND... - the same in $TMP/rec, recorded to $TMP/trace
record() {
	mkdir -p "$TMP/rec"
	local pre=("$REC" --checksum -o "$TMP/trace" --)
	[ -z "$PLAIN" ] || pre=()
	(cd "$TMP/rec" && exec ${pre[@]+"${pre[@]}"} "$@" >"$TMP/rec.out" 2>"$TMP/rec.err" </dev/null)
	echo $? >"$TMP/rec.rc"
	if grep -E '^(rec|hindsight): ' "$TMP/rec.err" >"$TMP/rec.said"; then
		[ -n "${WARNS:-}" ] || fail "rec was not silent: $(head -1 "$TMP/rec.said")"
		grep -vE '^(rec|hindsight): ' "$TMP/rec.err" >"$TMP/rec.err2"; mv "$TMP/rec.err2" "$TMP/rec.err"
	fi
}

# same WHAT A B - two files are the same
same() {
	cmp -s "$2" "$3" && return
	fail "$1 differs: $(diff -a "$2" "$3" | head -4 | tr '\n' '|' | cut -c1-300)"
}
# The recording gave what the plain run gave.  An argument names a filter for both outputs.
recorded_as_plain() {
	[ "$(cat "$TMP/plain.rc")" = "$(cat "$TMP/rec.rc")" ] ||
		fail "rec exited $(cat "$TMP/rec.rc"), the plain run $(cat "$TMP/plain.rc"): $(tail -1 "$TMP/rec.err")"
	for s in out err; do
		if [ $# -gt 0 ]; then
			for w in plain rec; do "$@" <"$TMP/$w.$s" >"$TMP/$w.$s.filtered"; done
			same "std$s" "$TMP/plain.$s.filtered" "$TMP/rec.$s.filtered"
		else
			same "std$s" "$TMP/plain.$s" "$TMP/rec.$s"
		fi
	done
}
same_files() { diff -r "$TMP/plain" "$TMP/rec" >"$TMP/diff" || fail "files differ: $(head -3 "$TMP/diff" | tr '\n' '|')"; }

# replays [N] - each gives what the recording gave: stdout, stderr, exit status; and touches no file
replays() {
	[ -z "$PLAIN" ] || return 0
	local i n=${1:-$REAL_REPLAYS} rc
	mkdir -p "$TMP/nowhere"
	for i in $(seq "$n"); do
		(cd "$TMP/nowhere" && exec "$REPLAY" -a "$TMP/trace" >"$TMP/replay.out" 2>"$TMP/replay.err" </dev/null)
		rc=$?
		[ $rc = "$(cat "$TMP/rec.rc")" ] ||
			fail "replay $i exited $rc, rec $(cat "$TMP/rec.rc"): $(tail -1 "$TMP/replay.err" | cut -c1-300)"
		same "replay $i: stdout" "$TMP/rec.out" "$TMP/replay.out"
		same "replay $i: stderr" "$TMP/rec.err" "$TMP/replay.err"
		rmdir "$TMP/nowhere" 2>/dev/null || fail "replay wrote files: $(ls "$TMP/nowhere")"
		mkdir "$TMP/nowhere"
	done
}

# The whole of it for a program whose output does not vary.
both() { plain "$@"; record "$@"; recorded_as_plain; replays; }

# ---- for tests/cli ----
[ -z "$PLAIN" ] || case ${0%/*} in */cli) skip 'needs rec' ;; esac

# fails WHAT COMMAND... - our own failure: exit 125, exactly one line on stderr. Leaves it in $TMP/err.
fails() {
	local what=$1 rc; shift
	timeout --kill-after=5 $((20 * RATE)) "$@" >"$TMP/out" 2>"$TMP/err" </dev/null; rc=$?
	[ $rc = 125 ] || fail "$what: exit $rc, not 125: $(head -2 "$TMP/err" | tr '\n' '|')"
	[ "$(wc -l <"$TMP/err")" = 1 ] || fail "$what: $(wc -l <"$TMP/err") lines on stderr, not one: $(head -3 "$TMP/err" | tr '\n' '|')"
}
silent() { [ ! -s "$TMP/out" ] || fail "$1: stdout is not empty: $(head -1 "$TMP/out")"; }

# exits N WHAT COMMAND... - exit status N, nothing of ours on stderr
exits() {
	local n=$1 what=$2 rc; shift 2
	"$@" >"$TMP/out" 2>"$TMP/err" </dev/null; rc=$?
	[ $rc = "$n" ] || fail "$what: exit $rc, not $n: $(head -2 "$TMP/err" | tr '\n' '|')"
	[ ! -s "$TMP/err" ] || fail "$what: stderr is not empty: $(head -1 "$TMP/err")"
}

# prefix A B - file A is a prefix of file B
prefix() { [ "$(stat -c %s "$1")" -le "$(stat -c %s "$2")" ] && cmp -s -n "$(stat -c %s "$1")" "$1" "$2"; }
