#!/bin/bash
# test: timeout=200
# --num-cores=N: the files of /sys and /proc agree, by any way to them: from the root, a working directory, an open directory.
. "$LIB"
need python3
[ -e /sys/devices/system/cpu/cpu0/topology/core_id ] || skip 'no topology in /sys'
cat >p.py <<'P'
import glob, os, re, sys, threading
n = int(sys.argv[1])
listed = "0" if n == 1 else "0-%d" % (n - 1)
mask = (1 << n) - 1
CPU = "/sys/devices/system/cpu"
bad = 0
def text(path, **how):
    with open(os.open(path, os.O_RDONLY, **how)) as f: return f.read().strip()
def same(what, is_, wanted):
    global bad
    if is_ != wanted:
        bad += 1
        print("%s is %r, not %r" % (what, is_, wanted))
def number(m): return int(m.replace(",", ""), 16)
numbers = ["cpu%d" % i for i in range(n)]
def those(names): return sorted((x for x in names if re.match(r"cpu\d+$", x)), key=lambda x: int(x[3:]))
for turn in range(3):       # the third time sites are patched
    same("ls", those(os.listdir(CPU)), numbers)
    same("bus", those(os.listdir("/sys/bus/cpu/devices")), numbers)
    if os.path.isdir("/sys/devices/system/node/node0"):
        same("node0", those(os.listdir("/sys/devices/system/node/node0")), numbers)
        same("node's map", number(text("/sys/devices/system/node/node0/cpumap")), mask)
    same("beyond", os.path.exists("%s/cpu%d/topology/core_id" % (CPU, n)), False)
    for i in range(n):
        cpu = "%s/cpu%d" % (CPU, i)
        top = cpu + "/topology/"
        same("core_id", text(top + "core_id"), str(i))
        same("package", text(top + "physical_package_id"), "0")
        for name, wanted in ("thread_siblings", 1 << i), ("core_cpus", 1 << i), ("core_siblings", mask), ("package_cpus", mask), ("die_cpus", mask):
            if os.path.exists(top + name):
                same(name, number(text(top + name)), wanted)
                same(name + "_list", text(top + name + "_list"), str(i) if wanted != mask or n == 1 else listed)
        for index in glob.glob(cpu + "/cache/index*"):
            l3 = int(text(index + "/level")) > 2
            same(index, number(text(index + "/shared_cpu_map")), mask if l3 else 1 << i)
            same(index, text(index + "/shared_cpu_list"), listed if l3 else str(i))
            same("size", text(index + "/size") != "", True)
    last = n - 1
    for cwd, path in (CPU, "cpu%d/topology/core_id"), ("/sys/devices/system", "cpu/cpu%d/topology/core_id"), ("/sys/bus/cpu/devices", "cpu%d/topology/core_id"), ("/", "sys/devices/system/cpu/cpu%d/topology/core_id"):
        fd = os.open(cwd, os.O_RDONLY)
        same("by directory " + cwd, text(path % last, dir_fd=fd), str(last))
        try: same("beyond, by " + cwd, text(path % n, dir_fd=fd), None)
        except FileNotFoundError: pass
        os.close(fd)
        os.chdir(cwd)
        same("from " + cwd, text(path % last), str(last))
        same("beyond, from " + cwd, os.path.exists(path % n), False)
        if cwd == CPU: same("ls .", those(os.listdir(".")), numbers)
    os.chdir("%s/cpu%d" % (CPU, last))
    same("from there", text("topology/core_id"), str(last))
    try:
        os.chdir("%s/cpu%d" % (CPU, n))
        same("cd beyond", 1, 0)
    except FileNotFoundError: pass
    os.chdir("/")
    pid, tid = os.getpid(), threading.get_native_id()
    for path in "self", "thread-self", "%d" % pid, "self/task/%d" % tid, "%d/task/%d" % (pid, tid):
        same(path, re.search(r"Cpus_allowed_list:\s*(\S+)", text("/proc/%s/status" % path)).group(1), listed)
        same(path, re.search(r"Pid:\s*(\S+)", text("/proc/%s/status" % path)).group(1), str(pid))
    for name in "interrupts", "softirqs":
        if os.path.exists("/proc/" + name):
            table = text("/proc/" + name).split("\n")
            same(name, table[0].split(), ["CPU%d" % i for i in range(n)])
            if name == "softirqs": same(name, {len(l.split()) for l in table[1:]}, {n + 1})
    for path in glob.glob("/sys/fs/cgroup/cpu*/cpuacct.usage_percpu*"): same(path, len(text(path).split()), n)
    for path in glob.glob("/sys/fs/cgroup/cpu*/cpuacct.usage_all"):
        same(path, [l.split()[0] for l in text(path).split("\n")], ["cpu"] + ["%d" % i for i in range(n)])
r, w = os.pipe()
child = os.fork()
if not child:
    os.close(w)
    os.read(r, 1)
    os._exit(0)
same("a child", re.search(r"Cpus_allowed_list:\s*(\S+)", text("/proc/%d/status" % child)).group(1), listed)
same("a child", re.search(r"Pid:\s*(\S+)", text("/proc/%d/status" % child)).group(1), str(child))
os.close(w)
os.waitpid(child, 0)
sys.exit(bad != 0)
P
for n in 1 4 33; do
	for more in '' --no-syscallbuf; do
		[ $n != 33 ] || [ -z "$more" ] || continue
		rm -rf t; exits 0 "rec --num-cores=$n $more" "$REC" --num-cores=$n $more -o t /usr/bin/python3 -S p.py $n
		exits 0 "replay of $n" "$REPLAY" -a t
	done
done
if command -v lscpu > /dev/null; then
	rm -rf t; exits 0 lscpu "$REC" --num-cores=4 -o t lscpu -p=CPU,CORE,SOCKET
	[ "$(grep -v '#' "$TMP/out" | tr '\n' ' ')" = '0,0,0 1,1,0 2,2,0 3,3,0 ' ] || fail "lscpu: $(cat "$TMP/out")"
fi
# nothing of ours is left
ls -d "$TMP"/hindsight-cpus-* 2>/dev/null && fail 'directories are left'
exit 0
