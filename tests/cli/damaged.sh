#!/bin/bash
# test: timeout=400
# A small trace with one bit flipped, or cut, everywhere once: one line and 125, or - where the
# byte means nothing to the replay - the right output. Never a crash, a hang or other output.
. "$LIB"
exits 7 rec "$REC" -o t sh -c 'echo one; cat /etc/hostname >/dev/null; (echo two; exit 2); echo three; exit 7'
cp "$TMP/out" want
exits 7 replay "$REPLAY" -a t; same 'the replay' want "$TMP/out"
cat > damage.py <<'P'
import os, shutil, subprocess, sys, hashlib
replay, want = sys.argv[1], open("want", "rb").read()
bad, quiet, total = [], 0, 0
def check(what, strict):
    global quiet, total
    total += 1
    try:
        r = subprocess.run([replay, "-a", "t"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        bad.append(what + ": hangs"); return
    if r.returncode == 7 and r.stdout == want and not r.stderr and not strict:
        quiet += 1; return
    if r.returncode != 125: bad.append(f"{what}: exit {r.returncode} {r.stderr[:200]}")
    elif r.stderr.count(b"\n") != 1: bad.append(f"{what}: {r.stderr.count(10)} lines: {r.stderr[:300]}")
    elif not want.startswith(r.stdout): bad.append(f"{what}: other output {r.stdout[:100]}")
def write(f, data):
    os.chmod(os.path.dirname(f), 0o755)
    st = os.lstat(f) if os.path.exists(f) else None
    if st: os.unlink(f)             # never write through a hard link into the store
    open(f, "wb").write(data)
top = [f for f in sorted(os.listdir("t")) if os.path.isfile(f"t/{f}")]
for f in top:
    path = f"t/{f}"
    good = open(path, "rb").read()
    n = len(good)
    step = max(1, n // 150)
    for off in list(range(0, min(n, 64))) + list(range(64, n, step)):
        b = bytearray(good); b[off] ^= 1 << (off % 8); write(path, bytes(b))
        check(f"{f} byte {off} flipped", True)
    for cut in sorted({0, 1, n // 3, n // 2, n - 1, *range(0, n, max(1, n // 20))}):
        if cut < n:
            write(path, good[:cut]); check(f"{f} cut to {cut} of {n}", True)
    write(path, good + b"tail"); check(f"{f} with a tail", False)
    os.unlink(path); check(f"{f} missing", True)
    write(path, good)
files = [os.path.join(d, f) for d, _, fs in os.walk("t") for f in fs if d != "t"]
for path in sorted(files):
    good = open(path, "rb").read()
    n = len(good)
    for off in sorted({0, n // 2, n - 1} & set(range(n))):
        b = bytearray(good); b[off] ^= 0x10; write(path, bytes(b))
        check(f"{path} byte {off} flipped", False)
    write(path, good[:n // 2]); check(f"{path} cut", False)
    os.unlink(path); check(f"{path} missing", False)
    write(path, good)
r = subprocess.run([replay, "-a", "t"], capture_output=True)
if r.returncode != 7 or r.stdout != want: bad.append("the mended trace does not replay")
print(f"{total} damages, {quiet} without effect, {len(bad)} wrong")
for b in bad[:20]: print(b)
if bad: print(f"{len(bad)} of {total} wrong, first: {bad[0]}", file=sys.stderr)
sys.exit(1 if bad else 0)
P
/usr/bin/python3 damage.py "$REPLAY" || exit 1
