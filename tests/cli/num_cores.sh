#!/bin/bash
# test: timeout=200
# How many processors the program sees: one, or as many as --num-cores says, wherever it looks, in buffered and in traced calls.
. "$LIB"
need gcc
cat >t.c <<'EOF2'
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static int lines(const char *path, const char *begin)
{
	char line[8192];
	int n = 0;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		n += !strncmp(line, begin, strlen(begin)) && (strcmp(begin, "cpu") || (line[3] >= '0' && line[3] <= '9'));
	if (f)
		fclose(f);
	return n;
}
static int directories(void)
{
	DIR *d = opendir("/sys/devices/system/cpu");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += !strncmp(e->d_name, "cpu", 3) && e->d_name[3] >= '0' && e->d_name[3] <= '9';
	if (d)
		closedir(d);
	return n;
}
static void text(const char *path)
{
	char s[100] = "";
	int fd = open(path, O_RDONLY), n = read(fd, s, sizeof(s) - 1);

	close(fd);
	printf(" %.*s", n > 0 ? n - 1 : 0, s);
}
/* The same by other ways than a path from the root. */
static void relative(const char *dir, const char *path)
{
	char s[100000] = "";
	int fd = open(dir, O_RDONLY | O_DIRECTORY), file = openat(fd, path, O_RDONLY), n = 0, got;

	while ((got = read(file, s + n, sizeof(s) - 1 - n)) > 0)
		n += got;
	if (strstr(path, "cpuinfo")) {
		got = 0;
		for (char *p = s; (p = strstr(p, "\nprocessor")); p++)
			got++;
		printf(" %d", got + !strncmp(s, "processor", 9));
	} else {
		printf(" %.*s", n > 0 ? n - 1 : 0, s);
	}
	close(file);
	close(fd);
}
static unsigned tscp(void) { unsigned lo, hi, c; __asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(c)); return c & 0xfff; }
static void *elsewhere(void *arg)
{
	cpu_set_t one;
	int last = *(int *)arg - 1;

	CPU_ZERO(&one);
	CPU_SET(last, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		printf(" refused");
	for (int i = 0; i < 5; i++)
		printf(" %d", sched_getcpu() == last && tscp() == (unsigned)last);
	CPU_SET(last + 1, &one);
	CPU_CLR(last, &one);
	printf(" beyond %d", sched_setaffinity(0, sizeof(one), &one));
	return NULL;
}
int main(void)
{
	cpu_set_t all;
	struct stat st;
	unsigned cpu, node;
	char path[100];
	pthread_t t;
	int n;

	for (int i = 0; i < 4; i++) {	/* the third time sites are patched */
		sched_getaffinity(0, sizeof(all), &all);
		n = CPU_COUNT(&all);
		syscall(SYS_getcpu, &cpu, &node, NULL);
		printf("%d %ld %ld %d %d %d %d %u%u%u", n, sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_NPROCESSORS_CONF), lines("/proc/cpuinfo", "processor"),
		       lines("/proc/stat", "cpu"), directories(), sched_getcpu(), cpu, node, tscp());
		text("/sys/devices/system/cpu/online");
		text("/sys/devices/system/cpu/possible");
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", n - 1);
		printf(" %d", stat(path, &st) == 0 && S_ISDIR(st.st_mode));
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology", n);
		printf(" %d %d", access(path, F_OK), lines("/proc/self/status", "Cpus_allowed_list:"));
		relative("/", "sys/devices/system/cpu/online");
		relative("/sys", "devices/system/cpu/possible");
		relative("/proc", "cpuinfo");
		if (access("/sys/devices/system/node/node0", F_OK) == 0) {
			text("/sys/devices/system/node/node0/cpulist");
			relative("/sys/devices/system", "node/node0/cpulist");
		} else {
			printf(" - -");
		}
		printf(" %d\n", lines("/proc/stat", "btime") == 1 && lines("/proc/self/status", "Name:") == 1);
	}
	pthread_create(&t, NULL, elsewhere, &n);
	pthread_join(t, NULL);
	printf("\n");
	return 0;
}
EOF2
gcc -O1 -pthread -o t t.c || skip 'no compiler'
want() {	# cores, list
	local nodes='- -'
	[ ! -d /sys/devices/system/node/node0 ] || nodes="$2 $2"
	for i in 1 2 3 4; do echo "$1 $1 $1 $1 $1 $1 0 000 $2 $2 1 -1 1 $2 $2 $1 $nodes 1"; done
	echo " 1 1 1 1 1 beyond -1"
}
for options in '1 0 ' '1 0 --no-syscallbuf' '16 0-15 --num-cores=16' '16 0-15 --num-cores=16 --no-syscallbuf' '3 0-2 --num-cores=3' '64 0-63 --num-cores=64'; do
	set -- $options
	n=$1 list=$2; shift 2
	# shellcheck disable=SC2068
	"$REC" --checksum -o "$TMP/trace" $@ ./t >"$TMP/out" || fail "rec $*: exit $?"
	want "$n" "$list" | diff - "$TMP/out" >"$TMP/diff" || fail "rec $*: $(head -5 "$TMP/diff" | tr '\n' '|')"
	"$REPLAY" -a "$TMP/trace" >"$TMP/again" || fail "replay $*: exit $?"
	cmp "$TMP/out" "$TMP/again" || fail "$*: other output"
	rm -rf "$TMP/trace"
done
"$REC" --chaos --seed=3 -o "$TMP/trace" ./t >"$TMP/out" || fail 'rec --chaos'
"$REPLAY" -a "$TMP/trace" | cmp - "$TMP/out" || fail '--chaos: other output'
"$REC" --num-cores=65 true 2>"$TMP/err"
[ $? = 125 ] && grep -q 'must be 1 to 64' "$TMP/err" || fail 'more than 64'
"$REC" --num-cores=0 true 2>"$TMP/err"
[ $? = 125 ] && grep -q 'from 1 on' "$TMP/err" && [ "$(wc -l <"$TMP/err")" = 1 ] || fail "0: $(cat "$TMP/err")"
# Files of cgroups, of either version: those that are there say so, those that are not are not made up.
for f in cpu.max cpuset.cpus.effective cpuset.cpus cpuset/cpuset.cpus cpuset/cpuset.effective_cpus cpu/cpu.cfs_quota_us cpu/cpu.max cpuset/none/cpuset.cpus; do
	p=/sys/fs/cgroup/$f
	rm -rf cg; got=$("$REC" --num-cores=5 -o cg cat $p 2>/dev/null); rc=$?
	if [ -n "$(cat $p 2>/dev/null)" ]; then
		case $f in *max) want='max 100000' ;; *quota_us) want=-1 ;; *) want=0-4 ;; esac
		[ "$got" = "$want" ] || fail "$p says '$got', not '$want'"
		[ "$("$REPLAY" -a cg)" = "$want" ] || fail "$p: replay"
	else
		[ -e $p ] || [ $rc = 1 ] || fail "$p is not there, and the program saw '$got'"
		[ -z "$got" ] || fail "$p is empty, and the program saw '$got'"
	fi
done
# nothing of ours is left
ls -d "$TMP"/hindsight-cpus-* 2>/dev/null && fail 'directories are left'
exit 0
