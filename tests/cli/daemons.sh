#!/bin/bash
# test: timeout=180
# Servers that go into the background by themselves, under rec: recorded until they end, and replayed.
. "$LIB"
whole() { wait_for 60 test -e "$1/end" || fail "$1: the trace has no end"; }
did=
if command -v redis-server > /dev/null && command -v redis-cli > /dev/null; then
	did=1; port=$(free_port)
	exits 0 'redis-server --daemonize' "$REC" -o r redis-server --daemonize yes --port $port --bind 127.0.0.1 --save '' --dir "$TMP" --pidfile "$TMP/r.pid" --logfile "$TMP/r.log"
	wait_for 20 redis-cli -p $port ping > /dev/null || fail 'redis does not answer'
	[ "$(redis-cli -p $port set a 1)" = OK ] && [ "$(redis-cli -p $port incr a)" = 2 ] || fail 'redis'
	redis-cli -p $port shutdown nosave > /dev/null 2>&1
	whole r; exits 0 'replay of redis' "$REPLAY" -a r
	"$HINDSIGHT" dump r | grep -q 'incr' || fail 'what redis did is not in the trace'
fi
if command -v nginx > /dev/null && command -v python3 > /dev/null; then
	did=1; port=$(free_port); mkdir -p www; echo hello > www/x; chmod 755 "$TMP" . www; chmod 644 www/x
	user=; [ "$(id -u)" != 0 ] || user='user root;'
	cat > n.conf <<E
$user worker_processes 2; pid $TMP/n.pid; error_log $TMP/n.log;
events { worker_connections 64; }
http { access_log off; client_body_temp_path $TMP/b; proxy_temp_path $TMP/p; fastcgi_temp_path $TMP/f; uwsgi_temp_path $TMP/u; scgi_temp_path $TMP/s;
  server { listen 127.0.0.1:$port; root $PWD/www; } }
E
	get() { python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode().strip())' "$@"; }
	exits 0 'nginx' "$REC" -o n nginx -c "$PWD/n.conf"
	wait_for 20 test -s "$TMP/n.pid" || fail 'nginx has no pid file'
	[ "$(get "http://127.0.0.1:$port/x")" = hello ] || fail 'nginx does not answer'
	kill -QUIT "$(cat "$TMP/n.pid")"
	whole n; exits 0 'replay of nginx' "$REPLAY" -a n
fi
[ -n "$did" ] || skip 'neither redis nor nginx is installed'
