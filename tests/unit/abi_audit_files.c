/* Audit of calls on files, directories, pipes and descriptors. */
#include "tests/unit/abi_audit.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/xattr.h>
#include <signal.h>

/* Newer than the headers. */
enum {
	SYS_cachestat = 451, SYS_statmount = 457, SYS_listmount = 458, SYS_getxattrat = 464,
	SYS_listxattrat = 465, SYS_file_getattr = 468, SYS_listns = 470,
};

static int file, dir, pipes[2];
static char path[] = "/tmp/abi_audit_XXXXXX";

static void fill_pipe(void)
{
	char junk[4096];
	int n;

	ioctl(pipes[0], FIONREAD, &n);
	while (n > 0)
		n -= (int)read(pipes[0], junk, sizeof(junk));
	assert_int_equal(write(pipes[1], "0123456789", 10), 10);
}

/* iovecs at IN(512): 4, 0, NULL and 100 bytes. */
static void set_iov(void)
{
	struct iovec *v = INP(512);

	v[0] = (struct iovec){ OUTP(0), 4 };
	v[1] = (struct iovec){ OUTP(500), 0 };
	v[2] = (struct iovec){ NULL, 0 };
	v[3] = (struct iovec){ OUTP(1000), 100 };
}

static void reading(void **state)
{
	(void)state;
	AUDIT((void)0, pread64, file, OUT(0), 777, 5);
	AUDIT(lseek(file, 0, SEEK_SET), read, file, OUT(0), 777);
	AUDIT(lseek(file, -10, SEEK_END), read, file, OUT(0), 777);
	AUDIT(fill_pipe(), read, pipes[0], OUT(0), 100);
	AUDIT(fill_pipe(), read, pipes[0], OUT(0), 7);
	AUDIT((fill_pipe(), set_iov()), readv, pipes[0], IN(512), 4);
	AUDIT(set_iov(), preadv, file, IN(512), 4, 3, 0);
	AUDIT(set_iov(), preadv2, file, IN(512), 4, 3, 0, 0);
	AUDIT((fill_pipe(), set_iov()), vmsplice, pipes[0], IN(512), 4, 0);
	AUDIT((void)0, getrandom, OUT(0), 123, 0);
	AUDIT_FAIL(EBADF, (void)0, read, -1, OUT(0), 100);
}

static void status(void **state)
{
	(void)state;
	strcpy(INP(0), path);
	AUDIT((void)0, stat, IN(0), OUT(0));
	AUDIT((void)0, lstat, IN(0), OUT(0));
	AUDIT((void)0, fstat, file, OUT(0));
	AUDIT((void)0, newfstatat, AT_FDCWD, IN(0), OUT(0), 0);
	AUDIT((void)0, statx, AT_FDCWD, IN(0), 0, 0xfff, OUT(0));
	AUDIT((void)0, statfs, IN(0), OUT(0));
	AUDIT((void)0, fstatfs, file, OUT(0));
	struct stat st;

	assert_int_equal(fstat(file, &st), 0);
	AUDIT((void)0, ustat, st.st_dev, OUT(0));
	AUDIT_FAIL(ENOENT, strcpy(INP(0), "/nowhere"), stat, IN(0), OUT(0));
	AUDIT(strcpy(INP(0), path), file_getattr, AT_FDCWD, IN(0), OUT(0), 24, 0);
	AUDIT(strcpy(INP(0), path), file_getattr, AT_FDCWD, IN(0), OUT(0), 64, 0);
	AUDIT((PUT64(256, 0), PUT64(264, 4096)), cachestat, file, IN(256), OUT(0), 0);
	AUDIT(strcpy(INP(0), "/proc/self/exe"), readlink, IN(0), OUT(0), 300);
	AUDIT((void)0, readlinkat, AT_FDCWD, IN(0), OUT(0), 5);
	AUDIT((void)0, getcwd, OUT(0), 4096);
}

static void directories(void **state)
{
	(void)state;
	AUDIT(lseek(dir, 0, SEEK_SET), getdents64, dir, OUT(0), 400);
	AUDIT(lseek(dir, 0, SEEK_SET), getdents, dir, OUT(0), 400);
	int fd = inotify_init1(0);

	inotify_add_watch(fd, path, IN_ATTRIB);
	AUDIT(fchmod(file, 0600), read, fd, OUT(0), 300);
	close(fd);
}

static void attributes(void **state)
{
	(void)state;
	strcpy(INP(0), path);
	strcpy(INP(256), "user.audit");
	if (fsetxattr(file, "user.audit", "some value", 10, 0))
		strcpy(INP(256), "security.none");
	AUDIT((void)0, getxattr, IN(0), IN(256), OUT(0), 100);
	AUDIT((void)0, lgetxattr, IN(0), IN(256), OUT(0), 100);
	AUDIT((void)0, fgetxattr, file, IN(256), OUT(0), 100);
	AUDIT((void)0, fgetxattr, file, IN(256), OUT(0), 0);
	AUDIT_FAIL(ERANGE, (void)0, fgetxattr, file, IN(256), OUT(0), 3);
	AUDIT((void)0, listxattr, IN(0), OUT(0), 100);
	AUDIT((void)0, llistxattr, IN(0), OUT(0), 100);
	AUDIT((void)0, flistxattr, file, OUT(0), 100);
	AUDIT((PUT64(512, OUT(0)), PUT32(520, 100), PUT32(524, 0)), getxattrat, AT_FDCWD, IN(0), 0,
	      IN(256), IN(512), 16);
	AUDIT((void)0, listxattrat, AT_FDCWD, IN(0), 0, OUT(0), 100);
}

static void handles(void **state)
{
	(void)state;
	strcpy(INP(0), path);
	AUDIT(PUT32(512, 100), name_to_handle_at, AT_FDCWD, IN(0), IN(512), OUT(0), 0);
	AUDIT(PUT32(512, 100), name_to_handle_at, AT_FDCWD, IN(0), IN(512), OUT(0), 1);
	AUDIT_FAIL(EOVERFLOW, PUT32(512, 0), name_to_handle_at, AT_FDCWD, IN(0), IN(512), OUT(0), 0);
	/* struct mnt_id_req: size, spare, mnt_id, param (statmount's mask) */
	uint64_t root = 0xffffffffffffffff;	/* LSMT_ROOT */

	AUDIT((PUT32(600, 24), PUT32(604, 0), PUT64(608, root), PUT64(616, 0)), listmount, IN(600),
	      OUT(0), 5, 0);
	struct statx sx;

	if (syscall(SYS_statx, AT_FDCWD, "/", 0, 0x4000, &sx) == 0 && sx.stx_mask & 0x4000)
		AUDIT((PUT32(600, 24), PUT32(604, 0),
		       PUT64(608, *(uint64_t *)((char *)&sx + 0x90)), PUT64(616, 0x3f)),
		      statmount, IN(600), OUT(0), 2000, 0);
}

static void pipes_and_offsets(void **state)
{
	int out = memfd_create("audit", 0);

	(void)state;
	AUDIT((void)0, pipe, OUT(0));
	AUDIT((void)0, pipe2, OUT(0), O_CLOEXEC);
	AUDIT(PUT64(0, 3), sendfile, out, file, IN(0), 10);
	AUDIT_FAIL(EBADF, PUT64(0, 3), sendfile, -1, file, IN(0), 10);
	AUDIT((PUT64(0, 3), PUT64(8, 0)), copy_file_range, file, IN(0), file, IN(8), 2, 0);
	AUDIT(PUT64(0, 3), splice, file, IN(0), pipes[1], 0, 10, 0);
	AUDIT((fill_pipe(), PUT64(0, 3)), splice, pipes[0], 0, out, IN(0), 10, 0);
	close(out);
}

static void locks_and_owners(void **state)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10 };

	(void)state;
	AUDIT(memcpy(INP(0), &fl, sizeof(fl)), fcntl, file, F_GETLK, IN(0));
	AUDIT(memcpy(INP(0), &fl, sizeof(fl)), fcntl, file, F_OFD_GETLK, IN(0));
	AUDIT((void)0, fcntl, file, F_GETOWN_EX, OUT(0));
	AUDIT((void)0, fcntl, file, 17, OUT(0));
	AUDIT((void)0, fcntl, file, F_GET_RW_HINT, OUT(0));
	AUDIT((void)0, fcntl, file, F_GETFL, OUT(0));
	AUDIT((void)0, fcntl, file, F_GETFD);
}

static void set_fds(void)
{
	memset(INP(0), 0, 512);
	for (int i = 0; i < 3; i++)
		arena[i * 64 + pipes[i == 1] / 8] |= (unsigned char)(1 << pipes[i == 1] % 8);
	memset(INP(256), 0, 64);
	PUT64(256, 5);
}

static void set_pollfd(void)
{
	struct pollfd *p = INP(0);

	p[0] = (struct pollfd){ pipes[0], POLLIN, 0x5555 };
	p[1] = (struct pollfd){ pipes[1], POLLOUT, 0x5555 };
	PUT64(256, 5);
	PUT64(264, 0);
}

static void polling(void **state)
{
	int ep = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLOUT, .data.u64 = 0x1122334455667788 };

	(void)state;
	epoll_ctl(ep, EPOLL_CTL_ADD, pipes[1], &ev);
	fill_pipe();
	AUDIT(set_pollfd(), poll, IN(0), 2, 0);
	AUDIT(set_pollfd(), ppoll, IN(0), 2, IN(256), 0, 8);
	AUDIT(set_fds(), select, 64, IN(0), IN(64), IN(128), IN(256));
	AUDIT(set_fds(), select, 10, IN(0), 0, IN(128), IN(256));
	AUDIT_FAIL(EINVAL, set_fds(), select, -1, IN(0), 0, IN(128), IN(256));
	AUDIT_FAIL(EBADF, (set_fds(), close(63), arena[7] = 0x80), select, 64, IN(0), 0, 0, IN(256));
	AUDIT(set_fds(), pselect6, 64, IN(0), IN(64), IN(128), IN(256), 0);
	AUDIT((void)0, epoll_wait, ep, OUT(0), 8, 0);
	AUDIT((void)0, epoll_pwait, ep, OUT(0), 8, 0, 0, 8);
	AUDIT((PUT64(0, 0), PUT64(8, 0)), epoll_pwait2, ep, OUT(0), 8, IN(0), 0, 8);
	close(ep);
}

static void special_files(void **state)
{
	int ev = eventfd(9, EFD_SEMAPHORE), tfd = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec its = { { 5, 0 }, { 5, 0 } };
	sigset_t set;

	(void)state;
	AUDIT((void)0, read, ev, OUT(0), 8);
	AUDIT((void)0, read, ev, OUT(0), 100);
	AUDIT(memcpy(INP(0), &its, sizeof(its)), timerfd_settime, tfd, 0, IN(0), OUT(0));
	AUDIT((void)0, timerfd_gettime, tfd, OUT(0));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int sfd = signalfd(-1, &set, 0);

	AUDIT(raise(SIGUSR1), read, sfd, OUT(0), 300);
	close(ev);
	close(tfd);
	close(sfd);
}

static void file_ioctls(void **state)
{
	(void)state;
	AUDIT((void)0, ioctl, file, FIONREAD, OUT(0));
	AUDIT(fill_pipe(), ioctl, pipes[0], FIONREAD, OUT(0));
	AUDIT((void)0, ioctl, file, FIGETBSZ, OUT(0));
	AUDIT((void)0, ioctl, file, 0x5460, OUT(0));
	AUDIT((void)0, ioctl, file, FS_IOC_GETFLAGS, OUT(0));
	AUDIT((void)0, ioctl, file, FS_IOC_GETVERSION, OUT(0));
	AUDIT((void)0, ioctl, file, FS_IOC_FSGETXATTR, OUT(0));
	AUDIT((void)0, ioctl, file, 0x80111500, OUT(0));
	AUDIT((void)0, ioctl, file, 0x81009431, OUT(0));
	AUDIT((memset(INP(0), 0, 512), PUT64(8, ~0ull), PUT32(24, 4)), ioctl, file, 0xc020660b,
	      IN(0));
	AUDIT(PUT32(0, 1), ioctl, pipes[0], FIONBIO, IN(0));
	AUDIT(PUT32(0, 0), ioctl, pipes[0], FIONBIO, IN(0));
	AUDIT((void)0, ioctl, file, FIOCLEX);
	int rnd = open("/dev/urandom", O_RDONLY);

	AUDIT((void)0, ioctl, rnd, 0x80045200, OUT(0));
	close(rnd);
	int ns = open("/proc/self/ns/user", O_RDONLY), mnt = open("/proc/self/ns/mnt", O_RDONLY);

	AUDIT((void)0, ioctl, ns, 0xb704, OUT(0));
	AUDIT((void)0, ioctl, mnt, 0x8008b705, OUT(0));
	AUDIT((void)0, ioctl, mnt, 0x8010b70a, OUT(0));
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	AUDIT((memset(INP(0), 0, 64), PUT64(0, 7)), ioctl, pidfd, 0xc040ff0b, IN(0));
	close(ns);
	close(mnt);
	close(pidfd);
}

static void set_scan(void)
{
	memset(INP(0), 0, 96);
	PUT64(0, 96);
	PUT64(16, IN(0));
	PUT64(24, IN(0) + ARENA);
	PUT64(40, OUT(0));
	PUT64(48, 10);		/* room for so many regions */
	PUT64(72, 0x7);		/* category_anyof_mask */
	PUT64(88, 0x7);		/* return_mask */
}

static void set_query(void)
{
	memset(INP(0), 0, 104);
	PUT64(0, 104);
	PUT64(16, (uintptr_t)set_query);
	PUT32(80, 500);
	PUT32(84, 20);
	PUT64(88, OUT(0));
	PUT64(96, OUT(600));
}

static void memory_maps(void **state)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	int maps = open("/proc/self/maps", O_RDONLY);

	(void)state;
	AUDIT(set_scan(), ioctl, pagemap, 0xc0606610, IN(0));
	AUDIT(set_query(), ioctl, maps, 0xc0686611, IN(0));
	AUDIT((void)0, mincore, IN(0), ARENA, OUT(0));
	AUDIT_FAIL(ENOMEM, (void)0, mincore, 4096, 4 * 4096, OUT(0));
	struct iovec *v = INP(704), *remote = INP(800);

	remote[0] = (struct iovec){ path, sizeof(path) };
	AUDIT((v[0] = (struct iovec){ OUTP(0), 5 }, v[1] = (struct iovec){ OUTP(100), 100 }),
	      process_vm_readv, getpid(), IN(704), 2, IN(800), 1, 0);
	close(pagemap);
	close(maps);
}

static int make_files(void **state)
{
	(void)state;
	file = mkstemp(path);
	dir = open("/", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 500; i++)
		assert_int_equal(write(file, "0123456789", 10), 10);
	return pipe(pipes) || file < 0 || dir < 0;
}

static int remove_files(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reading, make_files),
		cmocka_unit_test(status), cmocka_unit_test(directories),
		cmocka_unit_test(attributes), cmocka_unit_test(handles),
		cmocka_unit_test(pipes_and_offsets), cmocka_unit_test(locks_and_owners),
		cmocka_unit_test(polling), cmocka_unit_test(special_files),
		cmocka_unit_test(file_ioctls),
		cmocka_unit_test_teardown(memory_maps, remove_files),
	};

	return audit_main(tests, sizeof(tests) / sizeof(tests[0]));
}
