#!/bin/bash
# test: timeout=240
# Ruby: Timeout, whose thread sleeps while another computes; queues, mutexes, condition variables.
. "$LIB"
need ruby
cat > "$TMP/t.rb" <<'RB'
require "timeout"
hits = 0
20.times do
  begin
    Timeout.timeout(0.01) { x = 0; loop { x += 1 } }
  rescue Timeout::Error
    hits += 1
  end
end
puts "timeouts #{hits}"
puts Timeout.timeout(60) { (1..200_000).sum }
q = Queue.new
t = Thread.new { s = 0; while (x = q.pop); s += x; end; s }
2000.times { |i| q << i }
q << nil
puts t.value
m = Mutex.new; n = 0
ts = 4.times.map { Thread.new { 500.times { m.synchronize { n += 1; Process.clock_gettime(Process::CLOCK_MONOTONIC) } } } }
loop { break if m.synchronize { Process.clock_gettime(Process::CLOCK_MONOTONIC); n == 2000 } }
ts.each(&:join)
puts n
c = ConditionVariable.new; turn = 0
ts = 3.times.map { |me| Thread.new { 100.times { m.synchronize { c.wait(m) until turn % 3 == me; turn += 1; c.broadcast } } } }
ts.each(&:join)
puts turn
flag = false
t = Thread.new { sleep 0.02; flag = true }
x = 0
x += 1 until flag
puts "flag"
RB
both timeout 100 ruby "$TMP/t.rb"
