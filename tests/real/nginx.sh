#!/bin/bash
# test: timeout=180
# nginx with two workers under a client that keeps connections alive; clean stop by SIGQUIT.
. "$LIB"
need nginx
mkdir -p "$TMP/www" && chmod 755 "$TMP" "$TMP/www"
seq 20000 > "$TMP/www/large.txt"; echo small > "$TMP/www/small.txt"; chmod 644 "$TMP/www"/*
port=$(free_port)
user=; [ "$(id -u)" != 0 ] || user='user root;'
cat > "$TMP/nginx.conf" <<E
$user worker_processes 2; daemon off; pid $TMP/nginx.pid; error_log stderr notice;
events { worker_connections 64; }
http { access_log /dev/stdout; client_body_temp_path $TMP/b; proxy_temp_path $TMP/p; fastcgi_temp_path $TMP/f; uwsgi_temp_path $TMP/u; scgi_temp_path $TMP/s;
  server { listen 127.0.0.1:$port; root $TMP/www; location /again { return 302 /small.txt; } } }
E
cat > "$TMP/client.py" <<'PY'
import http.client, sys, threading, hashlib
port = int(sys.argv[1])
def talk(n, out):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for i in range(20):
        for path in ("/small.txt", "/large.txt", "/missing", "/again"):
            c.request("GET", path)
            r = c.getresponse()
            body = r.read()
            out.append((path, r.status, hashlib.md5(body).hexdigest() if r.status == 200 else ""))
outs = [[] for _ in range(4)]
ts = [threading.Thread(target=talk, args=(n, outs[n])) for n in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]
for o in outs:
    assert len(o) == 80
    print(sorted(set(o)))
PY
round() {
	local name=$1; shift
	(cd "$TMP" && exec "$@" nginx -p "$TMP" -c "$TMP/nginx.conf" > "$TMP/$name.out" 2> "$TMP/$name.err" </dev/null) & local p=$!
	wait_for 30 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" || { kill $p; wait $p; fail "nginx does not answer: $(tail -1 "$TMP/$name.err")"; }
	/usr/bin/python3 "$TMP/client.py" "$port" > "$TMP/$name.talk" || { kill $p; fail 'the client failed'; }
	kill -QUIT "$(cat "$TMP/nginx.pid")"
	wait $p; echo $? > "$TMP/$name.rc"
}
round plain
pre=("$REC" --checksum -o "$TMP/trace" --)
[ -n "$PLAIN" ] || round rec "${pre[@]}"
[ -n "$PLAIN" ] && exit 0
same 'the client' "$TMP/plain.talk" "$TMP/rec.talk"
[ "$(cat "$TMP/rec.rc")" = "$(cat "$TMP/plain.rc")" ] || fail "rec exited $(cat "$TMP/rec.rc"): $(tail -1 "$TMP/rec.err")"
replays
