#!/usr/bin/python3
"""columns.py ROOM... - fails on a line of more than 100 columns (tabs are 8).

Not meant: string literals, which people search for; rows of tables (macros); pictures in comments, which have tabs in them.
"""
import os
import re
import sys

LIMIT = 100


def exempt(line):
    return ('"' in line or line.endswith("\\") or line.startswith("#") or re.match(r"\s*[A-Z]+\(", line)
            or re.match(r"\s*\*.*\t", line))


bad = 0
for room in sys.argv[1:]:
    for base, _, files in os.walk(room):
        for name in sorted(files):
            if not name.endswith((".c", ".h")):
                continue
            path = os.path.join(base, name)
            with open(path, encoding="utf-8", errors="replace") as f:
                for n, line in enumerate(f, 1):
                    line = line.rstrip("\n")
                    width = len(line.expandtabs(8))
                    if width > LIMIT and not exempt(line):
                        bad = 1
                        print(f"{path}:{n}: {width} columns, the limit is {LIMIT}")
sys.exit(bad)
