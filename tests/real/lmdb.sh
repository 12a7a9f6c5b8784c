#!/bin/bash
# test: timeout=240
# LMDB: a map of 4 GB over a file that grows by writes while a reader process has it mapped; with and without MDB_WRITEMAP.
. "$LIB"
need gcc mdb_load mdb_dump mdb_stat
echo '#include <lmdb.h>' | gcc -E -x c - >/dev/null 2>&1 || skip 'liblmdb-dev is not installed'
cat > "$TMP/db.c" <<'C'
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#define DO(x) do { int r_ = (x); if (r_) { printf("%s: %s\n", #x, mdb_strerror(r_)); exit(1); } } while (0)
static MDB_env *open_env(unsigned flags, unsigned long size)
{
	MDB_env *env;
	DO(mdb_env_create(&env)); DO(mdb_env_set_mapsize(env, size)); DO(mdb_env_open(env, "db", flags, 0600));
	return env;
}
static long count(MDB_env *env)
{
	MDB_txn *txn; MDB_dbi dbi; MDB_cursor *c; MDB_val k, v; long n = 0, sum = 0;
	DO(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn)); DO(mdb_dbi_open(txn, NULL, 0, &dbi)); DO(mdb_cursor_open(txn, dbi, &c));
	while (mdb_cursor_get(c, &k, &v, MDB_NEXT) == 0) { n++; sum += v.mv_size + *(unsigned char *)v.mv_data; }
	mdb_cursor_close(c); mdb_txn_abort(txn);
	return n * 1000000 + sum % 1000000;
}
int main(int argc, char **argv)
{
	unsigned flags = argc > 1 ? MDB_WRITEMAP : 0; unsigned long size = 4ul << 30; int ask[2], answer[2]; char c = 'x';
	mkdir("db", 0700); pipe(ask); pipe(answer);
	pid_t pid = fork();
	if (!pid) {
		long n; read(ask[0], &c, 1);
		MDB_env *env = open_env(0, size);
		while (c != 'q') { n = count(env); write(answer[1], &n, sizeof(n)); if (read(ask[0], &c, 1) != 1) break; }
		mdb_env_close(env); _exit(0);
	}
	MDB_env *env = open_env(flags, size);
	for (int round = 0; round < 12; round++) {
		MDB_txn *txn; MDB_dbi dbi; char key[32], value[600]; long n;
		DO(mdb_txn_begin(env, NULL, 0, &txn)); DO(mdb_dbi_open(txn, NULL, 0, &dbi));
		for (int i = 0; i < 200; i++) {
			MDB_val k = { snprintf(key, sizeof(key), "key %d", round * 200 + i), key }, v = { 100 + i, value };
			memset(value, 'a' + round, sizeof(value)); DO(mdb_put(txn, dbi, &k, &v, 0));
		}
		DO(mdb_txn_commit(txn));
		write(ask[1], &c, 1); read(answer[0], &n, sizeof(n));
		printf("round %d: %ld, reader %ld\n", round, count(env), n);
	}
	write(ask[1], "q", 1); wait(NULL); mdb_env_close(env);
	return 0;
}
C
gcc -O1 -w "$TMP/db.c" -o "$TMP/db" -llmdb || skip 'liblmdb does not link'
both bash -c "'$TMP/db' && mv db plain && '$TMP/db' w && mdb_dump plain | md5sum && mdb_dump -n plain/data.mdb | head -3; mdb_dump db | mdb_load -n again && mdb_stat -n again && cmp <(mdb_dump db | tail -n +6) <(mdb_dump -n again | tail -n +6) && echo equal"
