#!/usr/bin/python3
"""calls.py BUILD ROOM=USED,USED... - which file calls which, from the objects that the compiler made.

Fails on a symbol that two objects of the rooms define; on a call from a room to one that it may not use; and on a cycle of more
than LIMIT files inside a room.  Prints the rooms, what they call, and their cycles.
"""
import glob
import os
import subprocess
import sys
from collections import defaultdict

LIMIT = 6


def symbols(path):
    defined, used = set(), set()
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        *_, kind, name = line.split()
        if kind in "TDBRC":
            defined.add(name)
        elif kind == "U":
            used.add(name)
    return defined, used


def cycles(nodes, calls):
    """Tarjan's strongly connected components of more than one node."""
    index, low, stack, found = {}, {}, [], []

    def visit(n):
        index[n] = low[n] = len(index)
        stack.append(n)
        for m in calls[n]:
            if m not in index:
                visit(m)
                low[n] = min(low[n], low[m])
            elif m in stack:
                low[n] = min(low[n], index[m])
        if low[n] == index[n]:
            at = stack.index(n)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for n in sorted(nodes):
        if n not in index:
            visit(n)
    return found


def main():
    build, bad = sys.argv[1], 0
    uses = {room: used.split(",") for room, used in (a.split("=") for a in sys.argv[2:])}
    owner, wants = {}, {}
    for room in uses:
        for path in sorted(glob.glob(f"{build}/{room}/*.o")):
            name = os.path.relpath(path, build)[:-2]
            if not os.path.exists(name + ".c") and not os.path.exists(name + ".S"):
                continue    # of a file that was there before
            defined, wants[name] = symbols(path)
            for s in sorted(defined - {"main"}):
                if s in owner:
                    bad = 1
                    print(f"{name}: {s} is defined in {owner[s]}, too")
                owner[s] = name
    calls, between = defaultdict(set), defaultdict(set)
    for name, used in sorted(wants.items()):
        for s in sorted(used):
            to = owner.get(s, name)
            a, b = os.path.dirname(name), os.path.dirname(to)
            if to == name:
                continue
            calls[name].add(to)
            between[a].add(b)
            # replayer/replay.h is what all may call; the room itself has no code
            allowed = a == b or b in uses[a] or (a in ("gdbserver", "analysis", "analysis/profile", "analysis/heap", "cmd") and b.startswith("replayer/"))
            if not allowed:
                bad = 1
                print(f"{name} calls {s} of {to}: {a} may not use {b}")
    for room in uses:
        nodes = [n for n in wants if os.path.dirname(n) == room]
        inside = defaultdict(set, {n: {m for m in calls[n] if m in nodes} for n in nodes})
        found = cycles(nodes, inside)
        print(f"{room}: {len(nodes)} files; calls {' '.join(sorted(between[room] - {room})) or 'no other room'}")
        for c in found:
            short = " ".join(os.path.basename(n) for n in c)
            print(f"    cycle of {len(c)}: {short}")
            if len(c) > LIMIT:
                bad = 1
                print(f"{room}: a cycle of {len(c)} files, the limit is {LIMIT}")
    return bad


sys.exit(main())
