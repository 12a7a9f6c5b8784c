#!/bin/bash
# test: timeout=120
# A program freezes its own processes by a cgroup, as `docker pause` does, and thaws them: one that computes, one that sleeps, one
# that makes calls, and one that is about to execute another program.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
if [ -w /sys/fs/cgroup/freezer/cgroup.procs ]; then
	cg=/sys/fs/cgroup/freezer/hindsight.$$ file=freezer.state on=FROZEN off=THAWED
elif [ -w /sys/fs/cgroup/cgroup.procs ]; then
	cg=/sys/fs/cgroup/hindsight.$$ file=cgroup.freeze on=1 off=0
else
	skip 'no cgroup of ours can freeze processes'
fi
cleanup() {
	[ -e $cg ] || return
	for i in 1 2 3 4 5 6 7 8 9 10; do
		echo $off > $cg/$file
		[ ! -s pid ] || kill -9 "$(cat pid)" 2> /dev/null
		xargs -r kill -9 < $cg/cgroup.procs
		sleep 0.2
		! rmdir $cg 2> /dev/null || break
	done
}
trap cleanup EXIT
mkdir $cg && [ -w $cg/$file ] || skip "$cg cannot freeze"
cat > prog.sh <<'E2'
rm -f go
frozen() {
	echo $p > $cg/cgroup.procs; sleep 0.05; echo $on > $cg/$file; sleep 0.3
	kill -0 $p && echo "$1 is alive"; echo $off > $cg/$file; sleep 0.05
}
( i=0; while :; do i=$((i+1)); done ) & p=$!
frozen computing; kill $p; wait $p; echo "status $?"
sleep 0.2 & p=$!
frozen sleeping; wait $p; echo "status $?"
( while :; do read -r x < /proc/self/stat; done ) & p=$!
frozen calling; kill $p; wait $p; echo "status $?"
( while [ ! -e go ]; do /bin/true; done ) & p=$!
frozen executing; > go; wait $p; echo "status $?"
python3 -c '
import threading, time
n = 0
def count():
    global n
    while n >= 0: n += 1
for k in range(2): threading.Thread(target=count).start()
time.sleep(1)
n = -1 << 60
print("threads")' & p=$!
sleep 0.2; frozen threaded; wait $p; echo "status $?"
E2
hung() { cleanup; cat "$1.out"; }
need python3
export cg file on off
run_to_end 15 plain sh prog.sh || fail "plain: $(cat plain.out plain.err)"
to_end_as_plain 15 sh prog.sh
exit 0
