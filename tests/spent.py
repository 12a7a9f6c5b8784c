"""spent.py - processor time that a test has used, for what must be quick: wall time says how busy the machine is.

In gdb's python:  import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
"""
import os

_HZ = os.sysconf("SC_CLK_TCK")


def _processes():
    """pid -> (parent, ticks), ticks with those of children that have been waited for."""
    found = {}
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            with open(f"/proc/{pid}/stat") as f:
                rest = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(pid)] = int(rest[1]), sum(int(x) for x in rest[11:15])
    return found


def spent():
    """Seconds, of the leader of our session (the runner makes one for each test) and all below it."""
    processes, top = _processes(), os.getsid(0)
    total = 0
    for pid in processes:
        p, steps = pid, 0
        while p in processes and p != top and steps < 100:
            p, steps = processes[p][0], steps + 1
        if p == top:
            total += processes[pid][1]
    return total / _HZ
