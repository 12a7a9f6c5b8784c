#!/bin/bash
# test: timeout=300
# strace inside of a recording: of ls, of make with all that it starts; attached to a program that runs.
. "$LIB"
need strace make gcc
export TRACE_OUT=calls
cat >"$TMP/Makefile" <<'END'
all: a b
%: %.c
	gcc -O1 -o $@ $<
%.c:
	echo 'int main(void) { return $(words $@); }' >$@
END
names() { sed -E 's/^[0-9]+ +//; s/\(.*//' "$1" | grep -E '^(openat|execve|exit_group|clone|vfork|wait4)$' | sort | uniq -c | sort -rn; }

both strace -f -o calls sh -c "cp '$TMP/Makefile' . && make -s && ./a; echo \$?"
same 'what strace -f saw' <(names "$TMP/plain/calls") <(names "$TMP/rec/calls")
rm -rf "$TMP/trace" "$TMP"/plain* "$TMP"/rec*
both strace -qq -e trace=write echo hello
rm -rf "$TMP/trace" "$TMP"/plain* "$TMP"/rec*
both strace --seccomp-bpf -f -qq -e trace=exit_group sh -c 'true; exit 7'
rm -rf "$TMP/trace" "$TMP"/plain* "$TMP"/rec*
both sh -c '
	mkfifo go up
	sh -c "echo >up; read x <go; exit 5" & p=$!
	read x <up
	strace -qq -o seen -e trace=exit_group -p $p 2>err & s=$!
	until grep -q "^TracerPid:[[:space:]]*[1-9]" /proc/$p/status; do :; done
	echo >go
	wait $p; echo $?
	wait $s; echo $?
	cat seen err'
