/*
 * A disk that is full while a file says so, for a server that is started with LD_PRELOAD: the file named by SCYLLA_NO_SPACE_SWITCH holds
 * a part of the paths that have no space left. Whatever makes such a file longer, or allocates space for it, fails with ENOSPC, as it
 * would; what is there can be written over. Works everywhere and for everybody: it takes no file system of its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* open() itself may be one of ours, so the switch is read with system calls that nobody has replaced. */
static bool
no_space_for(int fd)
{
	const char *file = getenv("SCYLLA_NO_SPACE_SWITCH");
	char		part[256];
	char		link[64];
	char		path[4096];
	ssize_t		length;
	int			saved = errno;
	int			from = file != NULL ? open(file, O_RDONLY | O_CLOEXEC) : -1;

	if (from < 0)
	{
		errno = saved;
		return false;
	}
	length = read(from, part, sizeof(part) - 1);
	close(from);
	if (length <= 0)
	{
		errno = saved;
		return false;
	}
	part[length] = '\0';
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	errno = saved;
	if (length <= 0)
		return false;
	path[length] = '\0';
	return strstr(path, part) != NULL;
}

/* Whether a file is to become longer on a disk that is full; sets errno. */
static bool
refuse(int fd, off_t end)
{
	struct stat st;
	int			saved = errno;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || end <= st.st_size || !no_space_for(fd))
	{
		errno = saved;
		return false;
	}
	errno = ENOSPC;
	return true;
}

static off_t
bytes_of(const struct iovec *iov, int count)
{
	off_t		bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += (off_t) iov[i].iov_len;
	return bytes;
}

#define REAL(name) \
	static __typeof__(name) *real = NULL; \
	if (real == NULL) \
		real = (__typeof__(name) *) dlsym(RTLD_NEXT, #name)

ssize_t
pwrite(int fd, const void *data, size_t size, off_t at)
{
	REAL(pwrite);
	return refuse(fd, at + (off_t) size) ? -1 : real(fd, data, size, at);
}

ssize_t
pwrite64(int fd, const void *data, size_t size, off64_t at)
{
	REAL(pwrite64);
	return refuse(fd, at + (off_t) size) ? -1 : real(fd, data, size, at);
}

ssize_t
pwritev(int fd, const struct iovec *iov, int count, off_t at)
{
	REAL(pwritev);
	return refuse(fd, at + bytes_of(iov, count)) ? -1 : real(fd, iov, count, at);
}

ssize_t
pwritev64(int fd, const struct iovec *iov, int count, off64_t at)
{
	REAL(pwritev64);
	return refuse(fd, at + bytes_of(iov, count)) ? -1 : real(fd, iov, count, at);
}

ssize_t
write(int fd, const void *data, size_t size)
{
	REAL(write);
	off_t		at = lseek(fd, 0, SEEK_CUR);

	return at >= 0 && refuse(fd, at + (off_t) size) ? -1 : real(fd, data, size);
}

int
posix_fallocate(int fd, off_t at, off_t size)
{
	REAL(posix_fallocate);
	return refuse(fd, at + size) ? ENOSPC : real(fd, at, size);
}

int
posix_fallocate64(int fd, off64_t at, off64_t size)
{
	REAL(posix_fallocate64);
	return refuse(fd, at + size) ? ENOSPC : real(fd, at, size);
}
