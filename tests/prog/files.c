/* Everyday file work: create, link, rename, truncate, seek, holes, times, modes, umask, chdir, *at. */
#include "test.h"
#include <sys/stat.h>
#include <sys/statvfs.h>

int main(void)
{
	struct timespec times[2] = { { 1000, 5 }, { 2000, 6 } };
	struct statvfs vfs;
	struct stat st, st2;
	char buf[4096];
	int fd, dir;

	umask(027);
	CHECK_EQ(umask(022), 027);
	CHECK_EQ(mkdir("d", 0777), 0);
	CHECK_EQ(chdir("d"), 0);
	CHECK(getcwd(buf, sizeof(buf)) && strstr(buf, "/d"));
	fd = open("f", O_CREAT | O_EXCL | O_RDWR, 0666);
	CHECK(fd >= 0);
	CHECK_ERR(open("f", O_CREAT | O_EXCL | O_RDWR, 0666), EEXIST);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_mode, S_IFREG | 0644);
	CHECK_EQ(link("f", "g"), 0);
	CHECK_EQ(symlink("f", "s"), 0);
	CHECK_EQ(readlink("s", buf, sizeof(buf)), 1);
	CHECK_EQ(stat("g", &st2), 0);
	CHECK(st.st_ino == st2.st_ino && st2.st_nlink == 2);
	CHECK_EQ(lstat("s", &st2), 0);
	CHECK(S_ISLNK(st2.st_mode));
	CHECK_EQ(pwrite(fd, "end", 3, 100000), 3);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 100003);
	CHECK(lseek(fd, 0, SEEK_DATA) >= 0);
	CHECK(lseek(fd, 0, SEEK_HOLE) >= 0);
	CHECK_EQ(ftruncate(fd, 50), 0);
	CHECK_EQ(pread(fd, buf, 100, 0), 50);
	CHECK_EQ(futimens(fd, times), 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK(st.st_atim.tv_sec == 1000 && st.st_mtim.tv_nsec == 6);
	CHECK_EQ(fchmod(fd, 0600), 0);
	CHECK_EQ(rename("g", "h"), 0);
	CHECK_ERR(stat("g", &st), ENOENT);
	CHECK_EQ(access("h", R_OK | W_OK), 0);
	CHECK_ERR(access("h", X_OK), EACCES);
	dir = open(".", O_RDONLY | O_DIRECTORY);
	CHECK_EQ(mkdirat(dir, "sub", 0700), 0);
	CHECK_EQ(renameat(dir, "h", dir, "sub/h"), 0);
	CHECK_EQ(fstatat(dir, "sub/h", &st, 0), 0);
	CHECK_EQ(unlinkat(dir, "sub/h", 0), 0);
	CHECK_EQ(unlinkat(dir, "sub", AT_REMOVEDIR), 0);
	CHECK_EQ(fsync(fd), 0);
	CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
	int rc = fallocate(fd, 0, 0, 8192);

	CHECK(rc == 0 || errno == EOPNOTSUPP);
	CHECK_EQ(statvfs(".", &vfs), 0);
	CHECK_EQ(fchdir(dir), 0);
	CHECK_EQ(unlink("s"), 0);
	CHECK_EQ(unlink("f"), 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_nlink, 0);
	CHECK_EQ(chdir(".."), 0);
	CHECK_EQ(rmdir("d"), 0);
	struct statx sx;

	CHECK_EQ(statx(AT_FDCWD, "/", 0, STATX_ALL, &sx), 0);
	CHECK(S_ISDIR(sx.stx_mode));
	int o = open("anonymous", O_TMPFILE | O_RDWR, 0600);

	CHECK(o >= 0 || errno == ENOENT || errno == EOPNOTSUPP || errno == EISDIR);
	return success();
}
