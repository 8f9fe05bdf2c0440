/*
 * A clock that can be set, for a server that is started with LD_PRELOAD: the file named by SCYLLA_CLOCK_FILE holds the number of
 * seconds by which the time of day is off. What counts time from some point on (CLOCK_MONOTONIC) goes on as ever, as it does when
 * the clock of a machine is set. That clock has a file of its own, named by SCYLLA_STEADY_CLOCK_FILE.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t
offset(const char *variable)
{
	const char *file = getenv(variable);
	char		text[32];
	ssize_t		length;
	int			saved = errno;
	int			from = file != NULL ? open(file, O_RDONLY | O_CLOEXEC) : -1;

	if (from < 0)
	{
		errno = saved;
		return 0;
	}
	length = read(from, text, sizeof(text) - 1);
	close(from);
	errno = saved;
	if (length <= 0)
		return 0;
	text[length] = '\0';
	return atol(text);
}

#define REAL(name) \
	static __typeof__(name) *real = NULL; \
	if (real == NULL) \
		real = (__typeof__(name) *) dlsym(RTLD_NEXT, #name)

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	REAL(gettimeofday);
	int			result = real(tv, tz);

	tv->tv_sec += offset("SCYLLA_CLOCK_FILE");
	return result;
}

int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	REAL(clock_gettime);
	int			result = real(clock, ts);

	if (clock == CLOCK_REALTIME)
		ts->tv_sec += offset("SCYLLA_CLOCK_FILE");
	else if (clock == CLOCK_MONOTONIC)
		ts->tv_sec += offset("SCYLLA_STEADY_CLOCK_FILE");
	return result;
}

time_t
time(time_t *where)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	if (where != NULL)
		*where = now.tv_sec;
	return now.tv_sec;
}
