"""backs.py - how long do gdb's commands backwards take at random places?

  N=100 SEED=1 replay --batch -x bench/backs.py TRACE

A place is a random event and, most often, where a ^C after a random time finds the program.  At each: reverse-stepi, reverse-next,
reverse-step, reverse-finish, and how long each took until gdb had its answer.
"""
import os
import random
import re
import signal
import threading
import time

import gdb

N, SEED, SLOW = int(os.environ.get("N", "100")), int(os.environ.get("SEED", "1")), float(os.environ.get("SLOW", "1"))
rnd = random.Random(SEED)
times = {}


def run(command):
    t0 = time.time()
    try:
        said = gdb.execute(command, to_string=True)
    except gdb.error as e:
        said = "error: %s" % e
    except KeyboardInterrupt:
        said = ""
    return time.time() - t0, said


def where():
    try:
        frame = gdb.newest_frame()
        return "%s in %s, %s" % (gdb.execute("when", to_string=True).strip(), frame.name(), frame.find_sal().line)
    except gdb.error as e:
        return str(e)


for setting in ("pagination off", "confirm off", "style enabled off", "width 0"):
    gdb.execute("set " + setting)
run("seek end")
last = int(re.search(r"event (\d+)", gdb.execute("when", to_string=True)).group(1))
run("seek 0")
run("continue")
for place in range(N):
    event = rnd.randrange(1, last)
    gdb.execute("seek %d" % event, to_string=True)
    # gdb does not stand a ^C at the very moment at which the program stops: well before the end of the way.
    way = run("continue")[0] if rnd.random() < 0.7 else 0
    if way:
        gdb.execute("seek %d" % event, to_string=True)
    if way > 0.02:
        timer = threading.Timer(rnd.random() * min(0.8 * way, 1), os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            run("continue")
            timer.join()
        except KeyboardInterrupt:	# it came a little late
            pass
    else:
        run("stepi %d" % rnd.choice((1, 10, 300)))
    for command in ("reverse-stepi", "reverse-next", "reverse-next", "reverse-step", "reverse-finish"):
        before = where()
        took, said = run(command)
        if "error" in said and not re.search("history|outermost|no symbol table|No more|bounds of current", said):
            print("%s at %s: %s" % (command, before, said.strip()), flush=True)
        times.setdefault(command, []).append(took)
        if took > SLOW:
            print("%.1f s for %s at %s, to %s" % (took, command, before, where()), flush=True)
for command, l in times.items():
    l.sort()
    at = lambda q: 1000 * l[min(len(l) - 1, int(q * len(l)))]
    print("%d %s: median %.0f ms, p95 %.0f ms, max %.0f ms" % (len(l), command, at(0.5), at(0.95), at(1)), flush=True)
