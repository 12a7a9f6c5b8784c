/* Directories: 500 entries by readdir, telldir/seekdir, raw getdents64 with small buffers. */
#include "test.h"
#include <dirent.h>

int main(void)
{
	char name[300], buf[200], *p;
	int n = 0, fd;
	struct dirent *e;
	long where = 0, len;
	DIR *d;

	CHECK_EQ(mkdir("d", 0700), 0);
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "d/%0*d", i % 50 + 10, i);
		close(open(name, O_CREAT | O_WRONLY, 0600));
	}
	d = opendir("d");
	while ((e = readdir(d))) {
		if (n == 100)
			where = telldir(d);
		printf("%s\n", e->d_name);
		n++;
	}
	CHECK_EQ(n, 502);
	seekdir(d, where);
	n = 0;
	while (readdir(d))
		n++;
	CHECK_EQ(n, 401);
	rewinddir(d);
	CHECK(readdir(d));
	closedir(d);
	fd = open("d", O_RDONLY | O_DIRECTORY);
	n = 0;
	while ((len = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (p = buf; p < buf + len; p += ((struct dirent64 *)p)->d_reclen)
			n++;
	CHECK_EQ(len, 0);
	CHECK_EQ(n, 502);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK_ERR(syscall(SYS_getdents64, fd, buf, 10), EINVAL);
	n = 0;
	while ((len = syscall(SYS_getdents, fd, buf, sizeof(buf))) > 0)
		n += (int)len;
	CHECK(len == 0 && n > 10000);
	return success();
}
