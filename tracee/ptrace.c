#include "tracee/ptrace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/layout.h"
#include "abi/page.h"
#include "base/slow.h"
#include "tracee/maps.h"

_Static_assert(sizeof(struct regs) == sizeof(struct user_regs_struct),
	       "abi/regs.h is the kernel's layout");

static struct err *ptrace_failed(pid_t tid, const char *what)
{
	if (errno == ESRCH)
		return &err_gone;
	return err_os(errno, "task %d: %s", tid, what);
}

struct err *tracee_regs_get(pid_t tid, struct regs *ret)
{
	if (ptrace(PTRACE_GETREGS, tid, NULL, ret) < 0)
		return ptrace_failed(tid, "cannot read its registers");
	return NULL;
}

/*
 * The kernel refuses selectors and bases that instructions may load (1 to fs, any address by
 * wrgsbase), and all the others with them.  What is there already stays.
 */
static bool set_what_differs(pid_t tid, const struct regs *regs)
{
	const uint64_t *want = (const uint64_t *)regs;
	struct regs now;

	if (errno != EIO || ptrace(PTRACE_GETREGS, tid, NULL, &now) < 0)
		return false;
	for (size_t i = 0; i < sizeof(now) / 8; i++) {
		if (((const uint64_t *)&now)[i] != want[i] &&
		    ptrace(PTRACE_POKEUSER, tid, (void *)(i * 8), (void *)want[i]) < 0)
			return false;
	}
	return true;
}

struct err *tracee_regs_set(pid_t tid, const struct regs *regs)
{
	if (ptrace(PTRACE_SETREGS, tid, NULL, regs) < 0 && !set_what_differs(tid, regs))
		return ptrace_failed(tid, "cannot set its registers");
	return NULL;
}

struct err *tracee_xstate_get(pid_t tid, void *buf, size_t *len_ret)
{
	struct iovec iov = { buf, TRACEE_XSTATE_MAX };
	const unsigned char *bytes = buf;
	static const unsigned char zeros[64];

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &iov) < 0)
		return ptrace_failed(tid, "cannot read its vector registers");
	while (iov.iov_len > sizeof(zeros) &&
	       !memcmp(bytes + iov.iov_len - sizeof(zeros), zeros, sizeof(zeros)))
		iov.iov_len -= sizeof(zeros);
	while (iov.iov_len > 0 && bytes[iov.iov_len - 1] == 0)
		iov.iov_len--;
	*len_ret = iov.iov_len;
	return NULL;
}

/* The kernel wants the area whole: ask once how large it is here. */
static size_t xstate_size(pid_t tid)
{
	static size_t size;
	unsigned char buf[TRACEE_XSTATE_MAX];
	struct iovec iov = { buf, sizeof(buf) };

	if (!size && ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &iov) == 0)
		size = iov.iov_len;
	return size;
}

struct err *tracee_xstate_set(pid_t tid, const void *buf, size_t len)
{
	unsigned char whole[TRACEE_XSTATE_MAX] = { 0 };
	struct iovec iov = { whole, xstate_size(tid) };

	if (len > iov.iov_len)
		return err_new(ERR_UNSUPPORTED,
			       "the recording has %zu bytes of vector state, this CPU only %zu: "
			       "replay it on a CPU with the same features",
			       len, iov.iov_len);
	memcpy(whole, buf, len);
	if (ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &iov) < 0)
		return ptrace_failed(tid, "cannot set its vector registers");
	return NULL;
}

/* Never memory of a file. */
static bool is_ours(uint64_t addr)
{
	return addr >= FIXED_PAGE && addr < FIXED_END;
}

size_t tracee_read_some(pid_t tid, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		struct iovec local = { (char *)buf + done, len - done };
		struct iovec remote = { (void *)(uintptr_t)(addr + done), len - done };
		ssize_t n = is_ours(addr) ? process_vm_readv(tid, &local, 1, &remote, 1, 0)
					  : slow_vm_readv(tid, &local, 1, &remote, 1);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

size_t tracee_read_pages(pid_t tid, const uint64_t *addr, void *const *buf, size_t n)
{
	struct iovec local[TRACEE_PAGES], remote[TRACEE_PAGES];
	ssize_t got;

	if (n > TRACEE_PAGES)
		n = TRACEE_PAGES;
	for (size_t i = 0; i < n; i++) {
		local[i] = (struct iovec){ buf[i], PAGE_BYTES };
		remote[i] = (struct iovec){ (void *)(uintptr_t)addr[i], PAGE_BYTES };
	}
	got = slow_vm_readv(tid, local, n, remote, n);
	return got < 0 ? 0 : (size_t)got / PAGE_BYTES;
}

size_t tracee_read_pieces(pid_t tid, const struct iovec *local, const struct iovec *remote,
			  size_t n)
{
	ssize_t got = slow_vm_readv(tid, local, n, remote, n);

	return got < 0 ? 0 : (size_t)got;
}

/*
 * Nobody reports the death of a task that lives: so &err_gone must not be said of one that is only
 * not to be seen in /proc.
 */
struct err *tracee_proc_failed(pid_t tid, const char *path)
{
	int why = errno;

	if (why == ESRCH || (why == ENOENT && kill(tid, 0) < 0 && errno == ESRCH))
		return &err_gone;
	if (why == ENOENT)
		return err_os(why, "cannot open %s (is /proc mounted, and without hidepid=2?)",
			      path);
	if (why == EACCES || why == EPERM)
		return err_os(why, "cannot open %s (only root may look into a program that may be "
			      "executed but not read)", path);
	return err_os(why, "cannot open %s", path);
}

static struct err *mem_file_open(pid_t tid, int flags, int *fd_ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	*fd_ret = open(path, flags | O_CLOEXEC);
	if (*fd_ret < 0)
		return tracee_proc_failed(tid, path);
	return NULL;
}

/* Pages that process_vm_readv refuses (PROT_NONE, write-only) but a debugger may see. */
static struct err *mem_file_some(pid_t tid, uint64_t addr, void *rbuf, const void *wbuf, size_t len,
				 size_t *done)
{
	int fd;

	*done = 0;
	TRY(mem_file_open(tid, wbuf ? O_RDWR : O_RDONLY, &fd));
	while (*done < len) {
		off_t off = (off_t)(addr + *done);
		ssize_t n = wbuf ? pwrite(fd, (const char *)wbuf + *done, len - *done, off) :
				   pread(fd, (char *)rbuf + *done, len - *done, off);
		if (n <= 0)
			break;
		*done += (size_t)n;
	}
	close(fd);
	return NULL;
}

static struct err *mem_file_io(pid_t tid, uint64_t addr, void *rbuf, const void *wbuf, size_t len)
{
	size_t done;

	TRY(mem_file_some(tid, addr, rbuf, wbuf, len, &done));
	if (done < len)
		return err_os(EFAULT, "task %d: memory 0x%" PRIx64 "+%zu", tid, addr, len);
	return NULL;
}

struct err *tracee_read(pid_t tid, uint64_t addr, void *buf, size_t len)
{
	size_t done = tracee_read_some(tid, addr, buf, len);

	if (done == len)
		return NULL;
	return mem_file_io(tid, addr + done, (char *)buf + done, NULL, len - done);
}

size_t tracee_read_mapped(pid_t tid, uint64_t addr, void *buf, size_t len)
{
	size_t done = tracee_read_some(tid, addr, buf, len), more = 0;

	if (done < len)
		err_free(mem_file_some(tid, addr + done, (char *)buf + done, NULL, len - done,
				       &more));
	return done + more;
}

/* How much of [addr, addr + len) is in a mapping that may be written and not read? */
static size_t write_only(pid_t tid, uint64_t addr, size_t len)
{
	struct tracee_map m;
	struct err *err;
	bool found;
	char byte;

	if (!tracee_read_mapped(tid, addr, &byte, 1))	/* most often: there is nothing */
		return 0;
	err = tracee_map_at(tid, addr, &m, &found);
	if (err || !found || (m.prot & PROT_READ) || !(m.prot & PROT_WRITE)) {
		err_free(err);
		return 0;
	}
	return m.end - addr < len ? (size_t)(m.end - addr) : len;
}

size_t tracee_read_user(pid_t tid, uint64_t addr, void *buf, size_t len)
{
	size_t done = tracee_read_some(tid, addr, buf, len), more;
	char *to = buf;

	while (done < len) {
		more = write_only(tid, addr + done, len - done);
		if (!more || tracee_read_mapped(tid, addr + done, to + done, more) != more)
			break;
		done += more;
		done += tracee_read_some(tid, addr + done, to + done, len - done);
	}
	return done;
}

/* A few bytes of code: as mem_file_io(), in two calls instead of three slower ones. */
static bool poke(pid_t tid, uint64_t addr, const void *buf, size_t len)
{
	long word;

	if (len > sizeof(word) || addr % PAGE_BYTES + sizeof(word) > PAGE_BYTES)
		return false;
	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)addr, NULL);
	if (errno)
		return false;
	memcpy(&word, buf, len);
	return ptrace(PTRACE_POKEDATA, tid, (void *)(uintptr_t)addr, (void *)(uintptr_t)word) == 0;
}

/*
 * Word by word, also to pages that may not be written: where /proc is mounted read-only, or the
 * kernel lets nobody write to such pages by it (proc_mem.force_override, Linux 6.12).
 */
static bool poke_all(pid_t tid, uint64_t addr, const void *buf, size_t len)
{
	const char *from = buf;

	while (len) {
		size_t skip = addr % sizeof(long), n = sizeof(long) - skip;
		void *at = (void *)(uintptr_t)(addr - skip);
		long word;

		n = n < len ? n : len;
		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, tid, at, NULL);
		if (errno)
			return false;
		memcpy((char *)&word + skip, from, n);
		if (ptrace(PTRACE_POKEDATA, tid, at, (void *)(uintptr_t)word) < 0)
			return false;
		addr += n;
		from += n;
		len -= n;
	}
	return true;
}

struct err *tracee_write(pid_t tid, uint64_t addr, const void *buf, size_t len)
{
	struct iovec local = { (void *)(uintptr_t)buf, len };
	struct iovec remote = { (void *)(uintptr_t)addr, len };
	ssize_t n = !len || is_ours(addr) ? process_vm_writev(tid, &local, 1, &remote, 1, 0)
					  : slow_vm_writev(tid, &local, 1, &remote, 1);
	struct err *err;
	char byte;

	if (n == (ssize_t)len)
		return NULL;
	/* only who traces it may do the rest: pages of files have to be there by then */
	for (uint64_t at = addr; slow_run && at < addr + len; at = page_down(at) + PAGE_BYTES)
		tracee_read_some(tid, at, &byte, 1);
	if (poke(tid, addr, buf, len))
		return NULL;
	err = mem_file_io(tid, addr, NULL, buf, len);
	if (!err || err->code == ERR_GONE || !poke_all(tid, addr, buf, len))
		return err;
	err_free(err);
	return NULL;
}

static struct tracee_mem kept_mem = { 0, -1 };

void tracee_mem_let_go(void)
{
	kept_mem.tid = 0;
	tracee_mem_close(&kept_mem);
}

void tracee_mem_keep(pid_t tid)
{
	tracee_mem_let_go();	/* of a task whose event could not be ended yet */
	kept_mem.tid = tid;
}

struct err *tracee_mem_write(struct tracee_mem *m, uint64_t addr, const void *buf, size_t len)
{
	struct iovec local = { (void *)(uintptr_t)buf, len };
	struct iovec remote = { (void *)(uintptr_t)addr, len };
	int *fd = m->tid == kept_mem.tid ? &kept_mem.fd : &m->fd;

	if (!len ||
	    (*fd < 0 && process_vm_writev(m->tid, &local, 1, &remote, 1, 0) == (ssize_t)len))
		return NULL;
	if (*fd < 0)
		err_free(mem_file_open(m->tid, O_RDWR, fd));
	if (*fd >= 0 && pwrite(*fd, buf, len, (off_t)addr) == (ssize_t)len)
		return NULL;
	return tracee_write(m->tid, addr, buf, len);
}

size_t tracee_mem_read_some(struct tracee_mem *m, uint64_t addr, void *buf, size_t len)
{
	enum { FEW_PAGES = 4 };		/* opening the file costs as much as some pages do */
	size_t done = 0;
	ssize_t n = 1;

	if (m->fd < 0 && len > FEW_PAGES * PAGE_BYTES)
		err_free(mem_file_open(m->tid, O_RDWR, &m->fd));
	while (m->fd >= 0 && done < len && n > 0) {
		n = pread(m->fd, (char *)buf + done, len - done, (off_t)(addr + done));
		done += n > 0 ? (size_t)n : 0;
	}
	return done + tracee_read_some(m->tid, addr + done, (char *)buf + done, len - done);
}

void tracee_mem_close(struct tracee_mem *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

void tracee_read_string(pid_t tid, uint64_t addr, char *buf, size_t size)
{
	size_t done = 0;

	buf[0] = '\0';
	while (done < size - 1) {
		/* up to the page's end, so that one unmapped page does not hide the one before */
		size_t room = PAGE_BYTES - (addr + done) % PAGE_BYTES;
		size_t want = room < size - 1 - done ? room : size - 1 - done;
		size_t n = tracee_read_user(tid, addr + done, buf + done, want);

		buf[done + n] = '\0';
		if (n < want || memchr(buf + done, '\0', n))
			return;
		done += n;
	}
}

int tracee_peek(void *ctx, uint64_t addr, void *buf, size_t len)
{
	pid_t tid = *(pid_t *)ctx;

	return tracee_read_user(tid, addr, buf, len) == len ? 0 : -1;
}

static enum tracee_alarm alarm_is;
static unsigned alarms_dropped;
static int last_request;	/* of tracee_resume() */

void tracee_alarm(enum tracee_alarm what)
{
	alarm_is = what;
}

unsigned tracee_alarms_dropped(void)
{
	return alarms_dropped;
}

struct err *tracee_resume(pid_t tid, int request, int sig)
{
	last_request = request;
	if (ptrace(request, tid, NULL, (void *)(uintptr_t)sig) < 0)
		return ptrace_failed(tid, "cannot resume it");
	return NULL;
}

bool (*tracee_waits_on)(pid_t tid, int *status_ret);

static struct err *wait_once(pid_t tid, int *status_ret)
{
	while (waitpid(tid, status_ret, __WALL) < 0) {
		if (errno != EINTR)
			return errno == ECHILD ? &err_gone : err_os(errno, "waitpid");
		if (tracee_waits_on && tracee_waits_on(tid, status_ret))
			return NULL;
	}
	return NULL;
}

struct err *tracee_wait(pid_t tid, int *status_ret)
{
	enum { ALARM = SIGALRM << 8 | 0x7f, EVENT = PTRACE_EVENT_STOP << 16 | SIGTRAP << 8 | 0x7f };

	TRY(wait_once(tid, status_ret));
	while (alarm_is == TRACEE_ALARM_DROP && *status_ret == ALARM) {
		alarms_dropped++;
		TRY(tracee_resume(tid, last_request, 0));
		TRY(wait_once(tid, status_ret));
	}
	if (alarm_is == TRACEE_ALARM_STOP && *status_ret == ALARM)
		*status_ret = EVENT;
	return NULL;
}

enum tracee_stop tracee_stop_kind(int status)
{
	int sig = WSTOPSIG(status);

	if (!WIFSTOPPED(status))
		return STOP_EXITED;
	switch ((unsigned)status >> 16) {
	case 0:
		return sig == (SIGTRAP | 0x80) ? STOP_SYSCALL : STOP_SIGNAL;
	case PTRACE_EVENT_SECCOMP:
		return STOP_SECCOMP;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		return STOP_CLONE;
	case PTRACE_EVENT_VFORK_DONE:
		return STOP_VFORK_DONE;
	case PTRACE_EVENT_EXEC:
		return STOP_EXEC;
	case PTRACE_EVENT_EXIT:
		return STOP_EXIT;
	default:	/* PTRACE_EVENT_STOP: group stop when it names a stopping signal */
		if (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU)
			return STOP_GROUP;
		return STOP_EVENT;
	}
}

bool tracee_is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGTRAP;
}

struct err *tracee_sigmask_get(pid_t tid, uint64_t *ret)
{
	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(*ret), ret) < 0)
		return ptrace_failed(tid, "cannot read its signal mask");
	return NULL;
}

struct err *tracee_sigmask_set(pid_t tid, uint64_t mask)
{
	if (ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) < 0)
		return ptrace_failed(tid, "cannot set its signal mask");
	return NULL;
}
