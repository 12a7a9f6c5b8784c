"""compare.py TRUTH LIST SOURCE [set] [places] - is each event that the program told in what `memprof --list' printed?

In order, with address and sizes, nothing else from SOURCE; set: of threads, so in any order.  places: also the line, to within one.
"""
import collections
import sys

truth_file, list_file, source = sys.argv[1:4]
modes = sys.argv[4:]
FIELDS = {"alloc": "ns", "free": "os", "realloc": "osns"}


def key(what, n):
	if what == "alloc":
		return what, 0, 0, n[0], n[1]
	return (what, *n) if what == "realloc" else (what, *n, 0, 0)


truth, ours = [], []
for text in open(truth_file):
	what, *n = text.split()
	truth.append(((what, int(n[0], 16), int(n[1]), int(n[2], 16), int(n[3])), int(n[4])))
for text in open(list_file):
	f = text.split()
	what = f[2].removesuffix("-map")
	n = [int(x, 0) for x in f[3:3 + len(FIELDS[what])]]
	file, _, line = f[-1].rpartition(":")
	ours.append((key(what, n), file, int(line) if line.isdigit() else 0))
assert truth, "the program told nothing"
if "set" in modes:
	a = collections.Counter(t for t, _ in truth)
	b = collections.Counter(t for t, _, _ in ours)
	assert not a - b, ("missing", list((a - b).items())[:5])
	sys.exit(0)
at = 0
for t, line in truth:
	here = at
	while at < len(ours) and ours[at][0] != t:
		at += 1
	assert at < len(ours), ("missing", t, line, "after", ours[max(0, here - 1):here + 3])
	if "places" in modes:
		assert ours[at][1] == source and abs(ours[at][2] - line) < 2, (t, line, ours[at])
	at += 1
mine = sum(file == source for _, file, _ in ours)
assert "places" not in modes or mine == len(truth), ("events of " + source, mine, len(truth))
