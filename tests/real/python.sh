#!/bin/bash
# test: timeout=180
# python3 with json, subprocess, threading, hashing, sockets, multiprocessing.
. "$LIB"
[ -x /usr/bin/python3 ] || skip '/usr/bin/python3 is not installed'
cat > "$TMP/t.py" <<'PY'
import json, subprocess, threading, queue, hashlib, socket, random, sys, os, tempfile, collections, zlib, re

data = {"k%d" % i: [i, i * 1.5, {"nested": list(range(i % 17))}] for i in range(3000)}
text = json.dumps(data, sort_keys=True)
assert json.loads(text) == data
print(hashlib.sha256(text.encode()).hexdigest(), len(zlib.compress(text.encode())))

out = subprocess.run(["sh", "-c", "read x; echo got $x; exit 4"], input=b"line\n", capture_output=True)
print(out.stdout, out.returncode)
ps = [subprocess.Popen(["sort", "-r"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)]
print([p.communicate(b"a\nb\nc\n")[0] for p in ps])

q, done = queue.Queue(10), []
lock = threading.Lock()
def worker(n):
    while (item := q.get()) is not None:
        with lock:
            done.append(item * item)
ts = [threading.Thread(target=worker, args=(n,)) for n in range(8)]
[t.start() for t in ts]
for i in range(500):
    q.put(i)
for t in ts:
    q.put(None)
[t.join() for t in ts]
print(sum(done), len(done))

s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
def serve():
    c, _ = s.accept()
    while d := c.recv(1000):
        c.sendall(d[::-1])
    c.close()
t = threading.Thread(target=serve); t.start()
c = socket.create_connection(s.getsockname())
for i in range(20):
    c.sendall(b"%05d" % i)
    assert c.recv(100)[::-1] == b"%05d" % i
c.close(); t.join()

r, w = os.pipe()
pids = []
for i in range(5):
    pid = os.fork()
    if pid == 0:
        os.write(w, b"%d" % i); os._exit(i)
    pids.append(pid)
print([os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in pids], len(os.read(r, 100)))
words = collections.Counter(re.findall(r"\w+", open("/etc/services").read() if os.path.exists("/etc/services") else "a b"))
print(words.most_common(3), sorted(set(random.Random(5).sample(range(1000), 10))))
sys.exit(3)
PY
export PYTHONHASHSEED=0
both /usr/bin/python3 -B "$TMP/t.py"
# What differs from run to run must not from recording to replay.
rm -rf "$TMP/trace"
unset PYTHONHASHSEED
record /usr/bin/python3 -B -c 'import random, time, os, uuid, threading; print(random.random(), time.time(), os.getpid(), uuid.uuid4(), hash("x"), id(object()), threading.get_native_id())'
replays
