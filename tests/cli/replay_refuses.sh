#!/bin/bash
# What replay cannot replay: one line, exit 125.
. "$LIB"
fails 'nothing recorded yet' "$REPLAY" -a; silent 'nothing recorded yet'
fails 'a missing trace' "$REPLAY" -a /nonexistent/trace
fails 'a text file' "$REPLAY" -a /etc/passwd; silent 'a text file'
mkdir empty; fails 'an empty directory' "$REPLAY" -a empty
fails 'a device' "$REPLAY" -a /dev/null
fails 'two traces' "$REPLAY" -a a b
fails 'an unknown option' "$REPLAY" --no-such-option
fails 'a program' "$REPLAY" -a /bin/true
mkdir junk; for f in meta events data end; do head -c 5000 /dev/urandom > junk/$f; done
fails 'random bytes' "$REPLAY" -a junk; silent 'random bytes'
for f in meta events data end; do : > junk/$f; done
fails 'empty files' "$REPLAY" -a junk
rm junk/events; mkfifo junk/events
fails 'a fifo instead of events' "$REPLAY" -a junk
exits 3 'a recording' "$REC" -o t sh -c 'echo x; exit 3'
chmod 000 t
[ "$(id -u)" = 0 ] || fails 'a trace that may not be read' "$REPLAY" -a t
chmod 700 t
exits 3 'the same trace' "$REPLAY" -a t
