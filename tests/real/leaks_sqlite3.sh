#!/bin/bash
# test: timeout=240
# hindsight leaks finds leaks planted in sqlite3 (tests/leaks/patches/sqlite3.patch) at their lines.
. "$LIB"
. "$ROOT/tests/leaks/planted.sh"
[ -z "$PLAIN" ] || skip 'needs a recording'
need cc make tclsh
source_of sqlite3
if [ ! -e "$SOURCE/.ready" ]; then
	mkdir -p "$SOURCE/obj"
	(cd "$SOURCE/obj" && ../configure --disable-tcl --disable-readline && make sqlite3.c shell.c) >"$TMP/make" 2>&1 ||
		fail "the amalgamation cannot be made: $(tail -1 "$TMP/make")"
	(cd "$SOURCE/obj" || exit
	cc -g -O0 -w -c -DSQLITE_OMIT_LOAD_EXTENSION shell.c &
	cc -g -O1 -w -c -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_THREADSAFE=0 sqlite3.c && wait $! &&
		cc -o sqlite3 shell.o sqlite3.o -lm) 2>"$TMP/cc" || fail "sqlite3 does not build: $(head -1 "$TMP/cc")"
	ready
fi
cat >"$TMP/s.sql" <<'S'
CREATE TABLE t(a INTEGER, b TEXT);
CREATE INDEX ib ON t(b);
INSERT INTO t VALUES(1,'one'),(2,'two'),(3,'three');
SELECT upper(b) FROM t;
CREATE TABLE t(x);
SELECT a AS alpha, b AS beta FROM t ORDER BY b;
.mode insert alpha_table
SELECT * FROM t;
.mode insert other_table
SELECT b, count(*) FROM t GROUP BY b;
S
"$REC" -o "$TMP/t" "$SOURCE/obj/sqlite3" :memory: <"$TMP/s.sql" >/dev/null 2>&1
"$HINDSIGHT" leaks --json "$TMP/t" >"$TMP/json" || fail 'leaks failed'
MARKS="$SOURCE/obj/sqlite3.c $SOURCE/obj/shell.c"
expect lost upperFunc - upperFunc char
expect lost sqlite3StartTable 'LOST name' sqlite3DbStrNDup char
expect lost set_table_name 'LOST table' do_meta_command char
expect lost exprListDeleteNN 'LOST alias' sqlite3ExprListSetName char
# Small blocks come from a pool of sqlite's own: by the names of its functions they are seen, too.
"$HINDSIGHT" leaks --json --alloc=sqlite3DbMallocRawNN:2 --free=sqlite3DbFreeNN:2 --free=sqlite3DbNNFreeNN:2 "$TMP/t" >"$TMP/json2" || fail 'leaks --alloc failed'
expect lost exprListDeleteNN 'LOST alias' sqlite3ExprListSetName char "$TMP/json2"
