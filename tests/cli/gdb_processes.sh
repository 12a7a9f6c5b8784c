#!/bin/bash
# test: timeout=120
# Processes in the middle of a recording: chosen by number, command, position; forked ones; back over an exec; several at once.
. "$LIB"
need gdb gcc
expect() { grep -aqE -- "$1" "$TMP/out" || fail "$name: no '$1' in: $(tail -25 "$TMP/out" | tr '\n' '|' | cut -c1-1200)"; }
# under NAME OPTION... - commands from stdin
under() {
	name=$1; shift; cat >"$name.gdb"
	timeout 60 "$REPLAY" --batch -x "$name.gdb" "$@" "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "$name: exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
}
refused() { "$REPLAY" --batch "$@" "$TMP/trace" >"$TMP/out" 2>&1 </dev/null; [ $? = 125 ] && [ "$(wc -l <"$TMP/out")" = 1 ] || fail "$*: $(tail -3 "$TMP/out")"; }

cat >outer.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
int value;
static int forked(int n) { value = n; return n; }
static void again(void) { value = 7; }
int main(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		int st;
		if (pid == 0 && i == 1)
			execl("./inner", "inner", "word", (char *)0);
		if (pid == 0)
			_exit(forked(40 + i));
		waitpid(pid, &st, 0);
		again();
	}
	return 0;
}
END
cat >inner.c <<'END'
#include <stdio.h>
int inner_value;
static void set(int n) { inner_value = n; }
int main(int argc, char **argv) { set(1); set(argc); printf("%s\n", argv[1]); return 3; }
END
gcc -g -O0 -o outer outer.c && gcc -g -O0 -o inner inner.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./outer >/dev/null || fail 'rec failed'
"$HINDSIGHT" ps "$TMP/trace" >ps.txt || fail 'ps failed'
grep -q 'PID *PARENT *EXIT' ps.txt && grep -q 'inner word' ps.txt || fail "ps: $(tr '\n' '|' <ps.txt)"
inner=$(awk '/inner word/ {print $1}' ps.txt); forked=$(awk '/\[forked\]/ {print $1}' ps.txt)
[ "$(awk '/inner word/ {print $2}' ps.txt)" = "$(awk '/outer$/ {print $1}' ps.txt)" ] || fail 'ps: not the parent'

for which in inner ./inner "$inner"; do
	[ "$which" = ./inner ] && continue	# argv[0] is inner
	under "by-$which" -p "$which" <<'END'
info inferiors
break set
continue
print n
continue
print n
last inner_value
when
END
	expect 'process [0-9]+ .*inner'; expect '^\$1 = 1'; expect '^\$2 = 2'; expect '^inner_value became 1 here, was 0'
done
pos=$(sed -n 's/.*position //p' "$TMP/out")
under position -e "$pos" <<'END'
print inner_value
info inferiors
END
expect '^\$1 = 0'; expect "process $inner"

under forked -f "$forked" <<'END'
break forked
continue
print n
reverse-continue
END
expect '^\$1 = 40'; expect 'No more reverse'
under forked-by-name -f outer <<'END'
info inferiors
END
expect "process $forked"
under forked-by-pid -p "$forked" <<'END'
info inferiors
END
expect "process $forked"

# back over the exec the program is the one it was then
under exec -p inner <<'END'
break set
continue
reverse-continue
info inferiors
print &value
continue
print n
END
expect '/outer$'; expect '^\$1 = \(int \*\)'; expect 'is executing new program: .*/inner'; expect '^\$2 = 1'

under both <<'END'
set detach-on-fork off
set schedule-multiple on
break forked
break again
continue
print n
info inferiors
checkpoint
continue
restart 1
print n
print value
reverse-continue
restart
run
print n
END
expect '^\$1 = 40'; expect '^\* 2 .*process'; expect '^\$2 = 40'; expect '^\$3 = 0'; expect '^\$4 = 40'
under child <<'END'
set follow-fork-mode child
break forked
continue
print n
reverse-continue
END
expect '^\$1 = 40'

refused -p nosuch; refused -p 1; refused -f inner; refused -e x; refused -e 99999; refused -p inner -f inner; refused -e 1:zz
exit 0
