#!/bin/bash
# test: timeout=400
# hindsight leaks finds leaks planted in redis (tests/leaks/patches/redis.patch) at their lines.
. "$LIB"
. "$ROOT/tests/leaks/planted.sh"
[ -z "$PLAIN" ] || skip 'needs a recording'
need cc c++ make
source_of redis
if [ ! -e "$SOURCE/.ready" ]; then
	# without -fno-...: a function that ends in a call is not on the stack any more
	make -j2 -C "$SOURCE/src" MALLOC=libc OPTIMIZATION='-O2 -fno-optimize-sibling-calls' redis-server >"$TMP/make" 2>&1 ||
		fail "redis does not build: $(tail -1 "$TMP/make")"
	mv "$SOURCE/src/redis-server" "$SOURCE/redis-libc"
	ready
fi
big=$(head -c 5000 /dev/zero | tr '\0' x)
work() {	# work PORT: what a client says, in redis' inline form
	exec 3<>"/dev/tcp/127.0.0.1/$1" || return
	printf '%s\r\n' 'RPUSH l one two three four five' 'LPOP l' 'LPOP l' 'RPOP l' 'HSET h a 1 b 2' 'DEL h' 'SET s hello' 'APPEND s world' \
		'APPEND s again' 'ZADD z1 1 a' 'ZADD z2 2 b' 'ZUNION 2 z1 z2 BOGUS' "RPUSH q $big" "RPUSH q $big" "RPUSH q $big" 'DEL q' 'PING' >&3
	read -rt 20 _ <&3
	until read -rt 20 line <&3 && [[ $line == +PONG* ]]; do [ -n "${line+x}" ] || return; done
	printf 'SHUTDOWN NOSAVE\r\n' >&3
}
up() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
MARKS=$(echo "$SOURCE"/src/*.c)
for server in "$SOURCE"/redis-*; do	# redis-jemalloc, where somebody has built it, too (half a minute more)
	port=$(free_port)
	rm -rf "$TMP/t"
	(cd "$TMP" && exec "$REC" -o "$TMP/t" "$server" --port "$port" --save '' --slowlog-log-slower-than 0 --slowlog-max-len 4) \
		>"$TMP/out" 2>&1 &
	rec=$!		# wait_for changes it
	wait_for 20 up "$port" || fail 'redis does not start'
	work "$port" || fail 'redis does not answer'
	wait $rec || fail "redis exited $?"
	"$HINDSIGHT" leaks --json "$TMP/t" >"$TMP/json" || fail 'leaks failed'
	expect lost popGenericCommand 'LOST popped' popGenericCommand robj
	expect lost appendCommand 'LOST append' appendCommand -
	expect lost zunionInterDiffGenericCommand - zunionInterDiffGenericCommand zsetopsrc
	expect lost decrRefCount 'LOST listpack' hsetCommand -
	expect cycle quicklistRelease 'LOST nodes' pushGenericCommand quicklistNode
	expect held - - slowlogCreateEntry slowlogEntry
done
