#!/bin/bash
# test: timeout=120
# rec --chaos finds each planted race; plain recordings do not show it.  CHAOS_RUNS=200 for a soak.
P=$BUILD/tests/cli/chaos_races
runs=${CHAOS_RUNS:-200} plain=${CHAOS_RUNS:-6}

cd "$TMP" || exit 1
for race in lost_wakeup aba double_checked early_free missed_signal; do
	for i in $(seq "$plain"); do
		rm -rf t
		"$REC" -o t -- "$P" $race || { echo "$race: a plain recording exited $?"; exit 1; }
	done
	found=0
	for seed in $(seq "$runs"); do
		rm -rf t
		"$REC" --chaos --seed=$seed -o t -- "$P" $race
		rc=$?
		[ $rc -le 1 ] || { echo "$race, seed $seed: exited $rc"; exit 1; }
		[ $rc = 0 ] || { found=$seed; break; }
	done
	[ $found != 0 ] || { echo "$race: not found in $runs runs"; exit 1; }
	"$REPLAY" -a t
	rc=$?
	[ $rc = 1 ] || { echo "$race, seed $found: replay exited $rc"; exit 1; }
	echo "$race: found by seed $found"
done
"$REC" --chaos --seed=x -o u -- "$P" aba 2> err && { echo "--seed=x was taken"; exit 1; }
exit 0
