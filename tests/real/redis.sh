#!/bin/bash
# test: timeout=240
# redis-server under redis-benchmark, then a clean shutdown that saves; replayed it says the same.
. "$LIB"
need redis-server redis-benchmark redis-cli
sock=$TMP/redis.sock
server() {	# the rest of the arguments: a prefix such as rec
	mkdir -p "$TMP/$1"; local dir=$TMP/$1; shift
	(cd "$dir" && exec "$@" redis-server --port 0 --unixsocket "$sock" --dir "$dir" --save '' --appendonly yes --daemonize no --loglevel notice)
}
talk() {
	wait_for 30 redis-cli -s "$sock" ping >/dev/null || fail "redis does not answer"
	redis-benchmark -s "$sock" -q -n 2000 -c 10 -t set,get,incr,lpush,lpop,sadd,zadd,mset >/dev/null || fail 'redis-benchmark failed'
	redis-cli -s "$sock" <<-'E'
	flushall
	set k v
	incrby n 5
	rpush l a b c
	lrange l 0 -1
	hset h f1 1 f2 2
	hgetall h
	bgsave
	dbsize
	E
	redis-cli -s "$sock" shutdown save
}
pre=("$REC" --checksum -o "$TMP/trace" --)
[ -z "$PLAIN" ] || pre=()
server plain > "$TMP/plain.out" 2> "$TMP/plain.err" & p=$!
talk > "$TMP/plain.talk"; wait $p; echo $? > "$TMP/plain.rc"
server rec ${pre[@]+"${pre[@]}"} > "$TMP/rec.out" 2> "$TMP/rec.err" & p=$!
talk > "$TMP/rec.talk"; wait $p; echo $? > "$TMP/rec.rc"
same 'the client' "$TMP/plain.talk" "$TMP/rec.talk"
[ "$(cat "$TMP/rec.rc")" = "$(cat "$TMP/plain.rc")" ] || fail "rec exited $(cat "$TMP/rec.rc"): $(tail -1 "$TMP/rec.err")"
ls "$TMP/rec/dump.rdb" >/dev/null || fail 'nothing was saved'
replays
