/* LD_PRELOAD of tests: a machine whose clock is off by $CLOCK_OFFSET_S seconds, and whose name is $CLOCK_HOST. Only the
 * calendar's clock is changed, as when an administrator sets it; what files are stamped with stays, as with a file
 * server of its own. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static long offset_s(void) {
  const char *text = getenv("CLOCK_OFFSET_S");
  return text ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  const long code = syscall(SYS_clock_gettime, clock, now);
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset_s();
  return (int)code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  const long code = syscall(SYS_gettimeofday, now, zone);
  if (code == 0) now->tv_sec += offset_s();
  return (int)code;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

int gethostname(char *name, size_t size) {
  const char *given = getenv("CLOCK_HOST");
  struct utsname machine;
  if (!given && uname(&machine) != 0) return -1;
  strncpy(name, given ? given : machine.nodename, size);
  return 0;
}
