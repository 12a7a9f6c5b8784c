# timed.py - for tests of replay, before their own file: what is executed, and how long the slowest of it took.
import gdb, os, time
slowest = 0
def ex(cmd):
    global slowest
    start = time.time()
    out = gdb.execute(cmd, to_string=True)
    slowest = max(slowest, time.time() - start)
    return out
