#!/bin/bash
# What rec cannot run: one line, exit 125, and no trace left behind.
. "$LIB"
fails 'no arguments' "$REC"; silent 'no arguments'
fails 'only --' "$REC" --
fails 'an unknown option' "$REC" --no-such-option true
fails 'an option without its value' "$REC" -o
fails 'a bad value' "$REC" --ticks=sundial true
fails 'a missing program' "$REC" no-such-program-anywhere; silent 'a missing program'
fails 'a missing path' "$REC" /nonexistent/program
fails 'a directory' "$REC" /usr
fails 'a directory, -- before' "$REC" -- .
echo 'not a program' > data; fails 'a file that is not executable' "$REC" ./data
chmod +x data; : > empty; chmod +x empty
fails 'an empty file' "$REC" ./empty
printf '#!/nonexistent/interpreter\n' > script; chmod +x script
fails 'a script whose interpreter is missing' "$REC" ./script
# mov $7, %ebx; mov $1, %eax; int $0x80 as a 32-bit ELF
/usr/bin/python3 - <<'P'
import os, struct
code = b"\xbb\7\0\0\0\xb8\1\0\0\0\xcd\x80"
h = b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 40, 0, 0)
h += struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 4096)
open("elf32", "wb").write(h + code); os.chmod("elf32", 0o755)
a = bytearray(open("/bin/true", "rb").read()); a[18] = 183          # another machine
open("arm", "wb").write(a); os.chmod("arm", 0o755)
open("cut", "wb").write(open("/bin/true", "rb").read()[:200]); os.chmod("cut", 0o755)
P
fails 'a 32-bit program' "$REC" ./elf32
fails 'a program of another machine' "$REC" ./arm
fails 'a program cut short' "$REC" ./cut
n=$(find "$HINDSIGHT_TRACE_DIR" -mindepth 1 -maxdepth 1 ! -name store ! -name "store.*" 2>/dev/null | wc -l)
[ "$n" = 0 ] || fail "$n traces of programs that could not run were left behind: $(ls "$HINDSIGHT_TRACE_DIR" | tr '\n' ' ')"
for o in '--seed=4' '--wait --kill' '--no-syscallbuf --syscallbuf-size=64'; do fails "$o" "$REC" $o true; silent "$o"; done
