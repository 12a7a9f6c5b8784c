#!/usr/bin/python3
"""drive.py SCREEN SCRIPT COMMAND... - runs COMMAND on a pty of its own, typing what SCRIPT says.

Lines of SCRIPT:  expect TEXT   wait until TEXT appears after the last match
                  send TEXT     type it (\\n, \\r, \\xNN)
                  pause SECONDS
                  end           wait for the command to end
SCREEN gets all that appeared.  Exits 0 when the script went through (the last exit status
asked for by the session itself is the caller's to check), else 1.
"""
import codecs
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

LIMIT = 60 * float(os.environ.get("TIMEOUT_SCALE", "1"))


def main():
    screen, script, cmd = open(sys.argv[1], "wb"), open(sys.argv[2]).read().splitlines(), sys.argv[3:]
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(cmd[0], cmd)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    seen, at = b"", 0

    def more(timeout):
        nonlocal seen
        if not select.select([fd], [], [], timeout)[0]:
            return True
        try:
            data = os.read(fd, 65536)
        except OSError:
            return False
        screen.write(data)
        screen.flush()
        seen += data
        return bool(data)

    for line in script:
        verb, _, arg = line.partition(" ")
        text = codecs.decode(arg, "unicode_escape").encode("latin-1")
        if verb == "send":
            os.write(fd, text)
        elif verb == "pause":
            end = time.monotonic() + float(arg)
            while time.monotonic() < end:
                more(max(0, end - time.monotonic()))
        elif verb == "expect":
            end = time.monotonic() + LIMIT
            while text not in seen[at:]:
                if time.monotonic() > end or not more(1):
                    print(f"drive: {text!r} did not appear", file=sys.stderr)
                    os.kill(pid, 9)
                    sys.exit(1)
            at = seen.index(text, at) + len(text)
        elif verb == "end":
            end = time.monotonic() + LIMIT
            while more(0.2) and time.monotonic() < end:
                pass
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    screen.write(b"\n[exit %d]\n" % status)
    sys.exit(1 if status == 125 or status < 0 else 0)


main()
