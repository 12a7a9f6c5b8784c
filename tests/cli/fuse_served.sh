#!/bin/bash
# test: timeout=240
# A file system in user space whose server is recorded, too: who opens, maps and executes its files waits for a task that the
# recorder runs, and so does the recorder itself, which reads what is mapped.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need bindfs fusermount3 mountpoint python3
[ -w /dev/fuse ] || skip '/dev/fuse cannot be used'

# What waits for a server that is stopped dies only when the connection is aborted.
cleanup() {
	local id
	for id in $(awk -v at="$PWD/fs" '$5 == at { split($3, dev, ":"); print dev[2] }' /proc/self/mountinfo); do
		echo 1 > /sys/fs/fuse/connections/$id/abort
		umount -l "$PWD/fs"
	done
	[ ! -s pid ] || kill -9 "$(cat pid)" 2> /dev/null
}
trap cleanup EXIT
cat > prog.sh <<'E2'
rm -rf fs src; mkdir -p fs src; echo data > src/f; cp /bin/echo src/
bindfs -f src fs & p=$!
i=0; until mountpoint -q fs; do i=$((i + 1)); [ $i -lt 200 ] || exit 3; sleep 0.05; done
cat fs/f; ls fs; stat -c %s fs/f; fs/echo executed; echo more >> fs/f; mv fs/f fs/g; cat < fs/g
python3 threads.py
fusermount3 -u fs; wait $p; echo "status $?"
E2
cat > threads.py <<'E2'
import mmap, os, threading
f = open('fs/echo', 'r+b')
m = mmap.mmap(f.fileno(), 0)
print(m[:4], len(set(m[::4096])) > 0)
m[1:4] = m[1:4]
m.flush()
p = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)
print(p[1:4] == m[1:4])
seen = [0, 0, 0]
def look(k):
    for i in range(20):
        name = 'fs/n%d' % (i % 3)
        try:
            with open(name, 'x') as n:
                n.write('x' * i)
            seen[k] += os.stat(name).st_size >= 0
            os.unlink(name)
        except OSError:
            pass
ts = [threading.Thread(target=look, args=(k,)) for k in range(3)]
for t in ts: t.start()
for t in ts: t.join()
print(sum(seen) > 0, sorted(os.listdir('fs')), len(open('fs/g').read()))
E2
hung() { ps -eo pid,stat,wchan:24,args | grep -a "$PWD\|bindfs"; cleanup; }
run_to_end 20 plain sh prog.sh || skip "bindfs cannot mount here: $(tail -1 plain.err)"
to_end_as_plain 20 sh prog.sh
exit 0
