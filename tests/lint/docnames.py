#!/usr/bin/python3
"""docnames.py FILE... - fails on a file or function that a text names and the tree does not have.

Looked at are `path/file.c' and `function()' in backquotes, and files in the pictures of docs/rooms/.  A file may be named without its directory; a function of the
system's or of another program's is none of ours: only names that begin like a room's of ours do (prefix_verb) are looked for.
"""
import os
import re
import sys

ROOMS = ["abi", "analysis", "base", "bench", "cmd", "gdbserver", "guests", "recorder", "replayer", "scripts", "symbols", "syscallbuf",
         "tests", "trace", "tracee", "x86"]

paths, names, words, prefixes = set(), set(), set(), set()
for room in ROOMS:
    for base, dirs, files in os.walk(room):
        for f in files:
            paths.add(os.path.join(base, f))
            names.add(f)
            if f.endswith((".c", ".h", ".S", ".def")) and room != "tests":
                with open(os.path.join(base, f), encoding="utf-8", errors="replace") as text:
                    words.update(re.findall(r"\w+(?=\()", text.read()))
for w in words:
    if "_" in w:
        prefixes.add(w.split("_")[0] + "_")

bad = 0
for doc in sys.argv[1:]:
    with open(doc, encoding="utf-8") as text:
        for n, line in enumerate(text, 1):
            said = re.findall(r"`([^`]+)`", line)
            if doc.startswith("docs/rooms/") and line.startswith("    "):
                said += re.findall(r"(?<![\w*./])[\w./]+\.[ch](?!\w)", line)
            for name in said:
                m = re.fullmatch(r"([\w./-]+\.(?:c|h|S|def))", name)
                if m and "NAME" not in name and not (name in paths if "/" in name and name.split("/")[0] in ROOMS else os.path.basename(name) in names):
                    bad = 1
                    print(f"{doc}:{n}: there is no file {name}")
                m = re.fullmatch(r"(\w+)\(\)", name)
                if m and m[1] not in words and any(m[1].startswith(p) for p in prefixes):
                    bad = 1
                    print(f"{doc}:{n}: there is no function {name}")
sys.exit(bad)
