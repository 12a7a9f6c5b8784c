#!/usr/bin/python3
"""length.py DIR... - fail on a function longer than 90 lines or a file longer than 800, warn above 60.

Kernel style makes this simple: a function body opens with '{' and ends with '}' in
column one.  What begins with '{' elsewhere (tables, structs) is not a function.
"""
import os
import re
import sys

LIMIT, AIM, FILE = 90, 60, 800


def functions(path):
    start, name, prev = None, "", ""
    with open(path, encoding="utf-8", errors="replace") as f:
        for n, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if start is None:
                if line == "{" and prev.rstrip().endswith(")"):
                    start = n
                elif re.match(r"[a-z].*\(", line):
                    m = re.search(r"([A-Za-z_0-9]+)\(", line)
                    name = m.group(1) if m else line
            elif line.startswith("}"):
                yield name, start, n - start - 1
                start = None
            prev = line if line.strip() else prev


def main():
    bad = 0
    for d in sys.argv[1:]:
        for base, _, files in os.walk(d):
            for f in sorted(files):
                if not f.endswith(".c"):
                    continue
                path = os.path.join(base, f)
                with open(path, encoding="utf-8", errors="replace") as text:
                    n = sum(1 for _ in text)
                if n > FILE:
                    bad = 1
                    print(f"{path} has {n} lines, the limit is {FILE}")
                for name, line, n in functions(path):
                    if n > LIMIT:
                        bad = 1
                        print(f"{path}:{line}: {name} has {n} lines, the limit is {LIMIT}")
                    elif n > AIM and os.environ.get("V"):
                        print(f"{path}:{line}: {name} has {n} lines, aim at {AIM} (warning)")
    return bad


sys.exit(main())
