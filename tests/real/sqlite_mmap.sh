#!/bin/bash
# test: timeout=240
# sqlite3 with PRAGMA mmap_size: the file is mapped, grows, shrinks (vacuum) and is written to, by two processes.
. "$LIB"
need sqlite3
cat > "$TMP/one.sql" <<'SQL'
pragma mmap_size = 268435456;
create table t(id integer primary key, b text);
with recursive n(i) as (values(1) union all select i+1 from n where i < 3000) insert into t select i, hex(zeroblob(i%300)) from n;
select count(*), sum(length(b)) from t;
create index tb on t(b);
delete from t where id % 3 = 0; vacuum;
select count(*), sum(length(b)) from t; pragma integrity_check;
with recursive n(i) as (values(5001) union all select i+1 from n where i < 9000) insert into t select i, 'x' || i from n;
select count(*), max(b) from t;
SQL
cat > "$TMP/two.sql" <<'SQL'
pragma mmap_size = 268435456;
select count(*) from t;
.shell sqlite3 t.db "insert into t select id + 100000, b || b from t; select count(*) from t;"
select count(*), sum(length(b)) from t;
.shell sqlite3 t.db "delete from t where id > 50000; vacuum;"
select count(*), sum(length(b)) from t; pragma integrity_check;
SQL
both bash -c "sqlite3 t.db < '$TMP/one.sql' && sqlite3 t.db < '$TMP/two.sql' && sqlite3 t.db 'pragma journal_mode=wal' && sqlite3 t.db < '$TMP/two.sql'"
