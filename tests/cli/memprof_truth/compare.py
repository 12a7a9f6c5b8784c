"""compare.py TRUTH LIST FILE [cell] - compares what a program's own allocator logged with hindsight memprof --list.

A line of TRUTH is "WHAT OLD OLDSIZE NEW NEWSIZE LINE [TID]", LINE 0 where the program cannot know it.  The events of LIST from the
first of TRUTH's on are the same, one by one; of programs with TIDs each thread's are: a thread may be interrupted between a call and
the line that says so.  "mark LINE": the program has just said that it is on that line; what calling the function that says so has
allocated right before is of that line, too.  With "cell" the program stores the line in memory instead: it does not
know of a stack that grew on the way there, nor of what the collector, which runs at a trace's head, frees and what table of strings it makes.  Of programs whose blocks all have addresses that end in 8, other
blocks do not count.
"""
import os
import re
import sys

truth, ours, tids = [], [], []
marks = []     # before which event, which line
for l in open(sys.argv[1]):
    if l.startswith("mark"):
        marks.append((len(truth), int(l.split()[1])))
        continue
    w, old, osize, new, size, line, *tid = l.split()
    tids += tid
    truth.append((w, int(old, 16), int(osize), int(new, 16), int(size), int(line)))
for l in open(sys.argv[2]):
    f = l.split()
    what, n = f[2], f[3:]
    if what.endswith("-map"):
        continue
    old = (int(n[0], 16), int(n[1])) if what[:4] != "allo" else (0, 0)
    n = n[2:] if what[:4] != "allo" else n
    new = (int(n[0], 16), int(n[1])) if what[:4] != "free" else (0, 0)
    m = re.search(r" at " + re.escape(sys.argv[3]) + r":(\d+)( \[trace \d+\])?$", l.rstrip("\n"))
    ours.append((what, *old, *new, int(m[1]) if m else 0, l, f[1]))
if all(x[1] % 16 in (0, 8) and (x[1] or x[3]) % 16 == 8 for x in truth):
    ours = [x for x in ours if (x[1] or x[3]) % 16 == 8]
start = next((i for i, x in enumerate(ours) if x[:5] == truth[0][:5]), None)
assert start is not None, truth[0]
ours, wrong, lines = ours[start:], 0, 0
if tids:
    of = {tid: iter([x for x in ours if x[7] == tid]) for tid in set(tids)}
    ours = [next(of[tid], ("nothing",) * 8) for tid in tids]
if "cell" in sys.argv[4:]:
    for i, (a, b) in enumerate(zip(truth, ours)):
        if a[0] == "realloc" or "[trace" in b[6] and (a[0] == "free" or a[4] >= 4096):
            truth[i] = (*a[:5], 0)
for at, line in marks:
    while at and ours[at - 1][5] == line and 0 != truth[at - 1][5] != line:
        at -= 1
        truth[at] = (*truth[at][:5], line)
for i, (a, b) in enumerate(zip(truth, ours)):
    assert a[:5] == b[:5], f"event {i}: the program says {a}, memprof {b}"
    if a[5]:
        lines += 1
        wrong += a[5] != b[5]
        if a[5] != b[5] and wrong <= int(os.environ.get("SHOW", 5)):
            print(f"event {i}: line {a[5]}, memprof: {b[6].strip()}", file=sys.stderr)
assert len(ours) >= len(truth), (len(ours), len(truth))
print(f"{len(truth)} events, {lines} with lines, {wrong} lines wrong")
sys.exit(wrong > 0)
