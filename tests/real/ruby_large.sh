#!/bin/bash
# test: timeout=240
# Ruby with more memory than is compared at each point: what tells turns of its loops apart is found all the same.
. "$LIB"
need ruby
cat > "$TMP/t.rb" <<'RB'
require "timeout"
$junk = Array.new(300_000) { |i| "string number #{i}" }
5.times do
  x = 0
  begin
    Timeout.timeout(0.02) { loop { x += 1 } }
  rescue Timeout::Error
    puts x
  end
end
flag = false
t = Thread.new { sleep 0.03; flag = true }
x = 0
x += 1 until flag
puts x
RB
ruby "$TMP/t.rb" >/dev/null || skip 'this ruby does not run'
for round in 1 2; do
	rm -rf "$TMP/t"
	timeout 100 "$REC" --checksum -o "$TMP/t" ruby "$TMP/t.rb" >"$TMP/out" || fail "round $round: rec exited $?"
	"$HINDSIGHT" dump -f "$TMP/t" | grep -q 'part of memory is not compared' || fail 'all memory was compared: that is no test'
	timeout 150 "$REPLAY" -a "$TMP/t" >"$TMP/again" 2>"$TMP/err" || fail "round $round: replay exited $?: $(tail -1 "$TMP/err")"
	same "round $round: output" "$TMP/out" "$TMP/again"
done
