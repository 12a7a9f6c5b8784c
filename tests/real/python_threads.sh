#!/bin/bash
# test: timeout=240 soak
# Python's threads take the interpreter's lock from one another: timers, queues, computing, sleeping, events, pools.
. "$LIB"
[ -x /usr/bin/python3 ] || skip '/usr/bin/python3 is not installed'
cat > "$TMP/t.py" <<'PY'
import concurrent.futures, queue, sys, threading, time
q = queue.Queue()
def sleeper():
    while (t := q.get()) is not None:
        time.sleep(t)
        flags.append(t)
flags = []
t = threading.Thread(target=sleeper); t.start()
for i in range(30):			# computes until a thread that sleeps says so
    n = len(flags); q.put(0.002)
    x = 0
    while len(flags) == n:
        x += 1
q.put(None); t.join()
print("sleeper", len(flags))
count = 0
lock = threading.Lock()
def add():
    global count
    for i in range(3000):
        with lock:
            count += 1
            time.monotonic()
ts = [threading.Thread(target=add) for _ in range(4)]
[t.start() for t in ts]
while True:				# polls under the lock
    with lock:
        time.monotonic()
        if count == 12000:
            break
[t.join() for t in ts]
print("lock", count)
done = threading.Event()
timers = [threading.Timer(0.01 * i, lambda i=i: i == 9 and done.set()) for i in range(10)]
[t.start() for t in timers]
while not done.is_set():
    pass
[t.join() for t in timers]
print("timers")
with concurrent.futures.ThreadPoolExecutor(4) as ex:
    print("pool", sum(ex.map(lambda n: sum(range(n)), range(2000))))
c = threading.Condition(); turn = 0
def player(me):
    global turn
    for _ in range(150):
        with c:
            c.wait_for(lambda: turn % 4 == me)
            turn += 1
            c.notify_all()
ts = [threading.Thread(target=player, args=(i,)) for i in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]
print("turns", turn)
stop = False
def spin():
    while not stop:
        time.sleep(0)
ts = [threading.Thread(target=spin) for _ in range(3)]
[t.start() for t in ts]
print("spun", sum(i * i for i in range(300000)))
stop = True; [t.join() for t in ts]
PY
both timeout 100 /usr/bin/python3 -S "$TMP/t.py"
