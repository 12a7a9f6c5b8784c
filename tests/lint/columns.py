#!/usr/bin/python3
"""columns.py ROOM... - fails on a line of more than 100 columns (tabs are 8): nothing is exempt.

Long string literals are written as adjacent ones.  Tables in abi/*.def, which are not C, are not read.
"""
import os
import sys

LIMIT = 100

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
                    if width > LIMIT:
                        bad = 1
                        print(f"{path}:{n}: {width} columns, the limit is {LIMIT}")
sys.exit(bad)
