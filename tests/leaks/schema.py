#!/usr/bin/python3
"""schema.py JSON... - is it what docs/leaks.md promises of `hindsight leaks --json`?"""
import json
import sys

HEX = lambda v: isinstance(v, str) and v.startswith("0x") and int(v, 16) >= 0
COUNT = lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0
TEXT = lambda v: isinstance(v, str)


def maybe(what):
    return lambda v: v is None or fits(v, what)


def fits(v, what, at="$"):
    if callable(what):
        good = what(v)
    elif isinstance(what, set):
        good = v in what
    elif isinstance(what, list):
        good = isinstance(v, list) and all(fits(x, what[0], at + "[]") for x in v)
    else:
        good = isinstance(v, dict) and all(k in v and fits(v[k], w, at + "." + k) for k, w in what.items())
    if not good:
        print(f"{at}: {json.dumps(v)[:200]}")
    return good


STACK = [{"function": maybe(TEXT), "file": maybe(TEXT), "line": maybe(COUNT)}]
WHEN = {"event": COUNT, "stack": STACK}
HOLDER = {"where": {"global", "block", "stack", "register"}, "name": maybe(TEXT), "address": HEX, "stored_by": maybe(WHEN)}
LEAK = {
    "kind": {"lost", "cycle", "held"}, "bytes": COUNT, "blocks": COUNT, "owned_bytes": COUNT, "type": maybe(TEXT), "alloc": WHEN,
    "lost_at": maybe({**WHEN, "how": {"overwritten", "freed", "returned", "exited"}}), "holders": [HOLDER], "cycle": maybe([HOLDER]),
}
ALL = {
    "trace": TEXT, "at": {"event": COUNT}, "leaks": [LEAK],
    "summary": {"live_blocks": COUNT, "live_bytes": COUNT, "leaked_blocks": COUNT, "leaked_bytes": COUNT},
}


def order(r):
    """The lost first, most bytes first in each."""
    size = [(x["kind"] == "held", -(x["bytes"] + x["owned_bytes"])) for x in r["leaks"]]
    return size == sorted(size)


def main():
    bad = False
    for name in sys.argv[1:]:
        r = json.load(open(name))
        if not fits(r, ALL) or not order(r):
            print(f"{name} is not as it should be")
            bad = True
    sys.exit(bad)


main()
