/* Extended attributes, where the file system has them. */
#include "test.h"
#include <sys/xattr.h>

int main(void)
{
	char v[100], list[1000];
	int fd = open("file", O_CREAT | O_RDWR, 0600);
	ssize_t n;

	if (setxattr("file", "user.one", "value", 5, 0) < 0 && (errno == EOPNOTSUPP || errno == EPERM))
		skip("no extended attributes here");
	CHECK_EQ(fsetxattr(fd, "user.two", "a longer value", 14, XATTR_CREATE), 0);
	CHECK_ERR(setxattr("file", "user.two", "x", 1, XATTR_CREATE), EEXIST);
	CHECK_EQ(getxattr("file", "user.one", v, sizeof(v)), 5);
	CHECK(!memcmp(v, "value", 5));
	CHECK_EQ(fgetxattr(fd, "user.two", NULL, 0), 14);
	CHECK_ERR(getxattr("file", "user.two", v, 3), ERANGE);
	n = listxattr("file", list, sizeof(list));
	CHECK(n >= 18);
	CHECK_EQ(flistxattr(fd, NULL, 0), n);
	CHECK_EQ(removexattr("file", "user.one"), 0);
	CHECK_ERR(lgetxattr("file", "user.one", v, sizeof(v)), ENODATA);
	return success();
}
