#!/usr/bin/python3
"""rooms.py [--check] - the list of files at the end of each page in docs/rooms, from what the files say of themselves.

A file says it in its first comment: "name.c - what it is for.".  Where a .c has none, its header says it.
--check: write nothing; exit status 1 and a line for each page that is not as it would be written.
"""
import glob
import os
import re
import sys

BEGIN = "## Files\n"


def purpose(path):
    text = open(path).read(4000)
    m = re.search(r"\b%s - (.*?)(?:\*/|\n \*\n|\.\s)" % re.escape(os.path.basename(path)), text, re.S)
    if not m or m.start() > 200:
        return None
    return " ".join(re.sub(r"\n \* ?", " ", m.group(1)).split()).rstrip(".:")


def page_of(folder):
    """The page of a folder: its own, or that of the one above."""
    while folder:
        page = "docs/rooms/%s.md" % os.path.basename(folder)
        if os.path.exists(page):
            return page
        folder = os.path.dirname(folder)
    return None


def main():
    check, bad, pages = "--check" in sys.argv[1:], 0, {}
    for path in sorted(glob.glob("**/*.[ch]", recursive=True)):
        folder = os.path.dirname(path)
        if path.split("/")[0] in ("tests", "bench", "build", "shared"):
            continue
        page = page_of(folder)
        if not page:
            continue
        other = path[:-1] + ("c" if path.endswith("h") else "h")
        what = purpose(path)
        if what:
            pages.setdefault(page, {}).setdefault(folder, []).append((os.path.basename(path), what))
        elif not (os.path.exists(other) and purpose(other)):
            bad = 1
            print("%s: its first comment does not say what it is for ('%s - ...')" % (path, os.path.basename(path)))
    for page in sorted(glob.glob("docs/rooms/*.md")):
        text = open(page).read()
        head = text.split("\n" + BEGIN)[0].rstrip("\n") + "\n"
        out = [head, "\n", BEGIN]
        for folder, files in sorted(pages.get(page, {}).items()):
            out += ["\n", "`%s/`\n" % folder, "\n", "| file | |\n", "|---|---|\n"]
            out += ["| `%s` | %s |\n" % (name, what.replace("|", "\\|")) for name, what in files]
        new = "".join(out) if page in pages else head
        if new != text:
            if check:
                bad = 1
                print("%s: the list of files is not what they say: run scripts/rooms.py" % page)
            else:
                open(page, "w").write(new)
    return bad


sys.exit(main())
