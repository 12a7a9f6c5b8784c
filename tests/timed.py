# timed.py - for tests of replay, before their own file: what is executed, and what processor time the slowest of it took.
import gdb, os, sys
sys.path.insert(0, os.environ["ROOT"] + "/tests")
from spent import spent
slowest = 0
def ex(cmd):
    global slowest
    start = spent()
    out = gdb.execute(cmd, to_string=True)
    slowest = max(slowest, spent() - start)
    return out
