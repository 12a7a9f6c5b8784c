#!/usr/bin/python3
"""check.py SOURCE JSON - does the answer of `hindsight leaks --json` fit what the source says?

The source's first line: // leaks: kind=lost bytes=100 blocks=1 how=overwritten type=struct_node holder=cache
and its lines: /* ALLOC */ where the block is allocated, /* LOST */ where the last reference goes,
/* STORED */ where the reference of a holder is stored, /* CYCLE */ where one that closes a cycle is.
With several leaks (markers ALLOC1, LOST1, ...) each must be found.
"""
import json
import os
import re
import sys


def line_of(stack, name):
    """The innermost line of the stack that is in our source."""
    for f in stack:
        if f["file"] and os.path.basename(f["file"]) == name:
            return f["line"]
    return None


def markers(text):
    found = {}
    for n, line in enumerate(text.split("\n"), 1):
        for m in re.finditer(r"/\* ([A-Z]+)(\d*) \*/", line):
            found[m.group(1), m.group(2)] = n
    return found


def check(leak, want, mark, number, name):
    wrong = []

    def same(what, found, expected):
        if str(found) != str(expected):
            wrong.append(f"{what} is {found}, not {expected}")

    for key in ("kind", "bytes", "blocks", "owned_bytes", "owned_blocks"):
        if key in want:
            same(key, leak[key], want[key])
    if "type" in want:
        same("type", leak["type"], want["type"].replace("_", " "))
    if ("ALLOC", number) in mark:
        same("line of allocation", line_of(leak["alloc"]["stack"], name), mark["ALLOC", number])
    lost = leak["lost_at"]
    if "how" in want:
        same("how", lost and lost["how"], want["how"])
    if ("LOST", number) in mark:
        same("line of loss", lost and line_of(lost["stack"], name), mark["LOST", number])
    if "holder" in want:
        h = [x for x in leak["holders"] if x["name"] and re.match(re.escape(want["holder"]) + r"\b", x["name"])]
        if not h:
            wrong.append(f"no holder {want['holder']} among {[x['name'] for x in leak['holders']]}")
        elif ("STORED", number) in mark:
            same("line of the store", h[0]["stored_by"] and line_of(h[0]["stored_by"]["stack"], name), mark["STORED", number])
    if ("CYCLE", number) in mark:
        lines = {c["stored_by"] and line_of(c["stored_by"]["stack"], name) for c in leak["cycle"] or []}
        if mark["CYCLE", number] not in lines:
            wrong.append(f"the cycle is closed at {lines}, not {mark['CYCLE', number]}")
    return wrong


def main():
    source, answer = sys.argv[1:3]
    text = open(source).read()
    name = os.path.basename(source)
    want = dict(w.split("=", 1) for w in text.split("\n")[0].removeprefix("// leaks:").split())
    mark = markers(text)
    leaks = json.load(open(answer))["leaks"]
    bad = []
    for number in sorted({n for k, n in mark if k == "ALLOC"}):
        tries = [check(x, want, mark, number, name) for x in leaks]
        best = min(tries, key=len, default=["nothing was found"])
        bad += [f"{name}{' ' + number if number else ''}: {w}" for w in best]
    if want["kind"] == "none" and any(x["kind"] != "held" for x in leaks):
        bad.append(f"{name}: {len(leaks)} leaks where there is none")
    if "only" in want and len(leaks) != int(want["only"]):
        bad.append(f"{name}: {len(leaks)} leaks, not {want['only']}")
    print("\n".join(bad), end="\n" if bad else "")
    sys.exit(bool(bad))


main()
