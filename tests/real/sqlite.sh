#!/bin/bash
# test: timeout=240
# sqlite3: 100,000 inserts, an index, queries, a rollback, a second connection's WAL.
. "$LIB"
need sqlite3
cat > "$TMP/t.sql" <<'SQL'
create table t(id integer primary key, a int, b text, c real);
begin;
with recursive n(i) as (values(1) union all select i+1 from n where i < 100000)
insert into t select i, (i*7919)%100003, 'text ' || ((i*31)%1000), i/3.0 from n;
commit;
create index ta on t(a); create index tb on t(b, c);
select count(*), sum(a), min(b), max(c) from t;
select b, count(*) from t group by b order by 2 desc, 1 limit 5;
begin; delete from t where a % 2; select count(*) from t; rollback; select count(*) from t;
update t set c = c + 1 where a between 1000 and 2000;
select * from t where a = 4711; pragma integrity_check; vacuum;
SQL
both bash -c "sqlite3 t.db < '$TMP/t.sql' && sqlite3 t.db 'pragma journal_mode=wal; insert into t values(200001,1,2,3); select count(*) from t;' && sqlite3 t.db .dump | md5sum"
