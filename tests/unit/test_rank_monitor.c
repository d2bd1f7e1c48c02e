/* trainer/ranks/rank_monitor: a connection to a machine that lost its power ends. The machine is a network of this
 * process alone, whose only interface is turned off: nothing is closed, and nothing answers any more. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "core/terminal.h"
#include "trainer/ranks/rank_monitor.h"

enum { SILENCE_S = 2 };

static void set_interface(bool is_up) {
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = (short)(is_up ? IFF_UP | IFF_RUNNING : 0)};
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &request), 0);
  close(fd);
}

/* Connects two sockets over the interface. */
static void connect_pair(int pair[2]) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(listen(listener, 1), 0);
  assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
  pair[0] = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(pair[0], (struct sockaddr *)&address, sizeof address), 0);
  pair[1] = accept(listener, NULL, NULL);
  assert_true(pair[1] >= 0);
  close(listener);
}

/* Returns the seconds until the connection ends, at most `limit_s`. */
static double wait_for_end(int connection, int limit_s) {
  struct pollfd end = {.fd = connection, .events = POLLIN};
  const double start = core_clock_s();
  poll(&end, 1, limit_s * 1000);
  return core_clock_s() - start;
}

static bool leave_network(void) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) return true;
  print_message("# not tested here: unshare: %s\n", strerror(errno));
  return false;
}

static void test_silence_ends_a_connection(void **unused) {
  (void)unused;
  char byte;
  int limited[2], unlimited[2];
  if (!leave_network()) skip();
  set_interface(true);
  connect_pair(limited);
  connect_pair(unlimited);
  rank_monitor_limit_silence(limited[0], SILENCE_S);
  assert_true(wait_for_end(limited[0], 2 * SILENCE_S) >= 2 * SILENCE_S - 0.1); /* an idle peer that answers */
  set_interface(false);
  const double seconds = wait_for_end(limited[0], 60);
  print_message("# noticed after %.1f s\n", seconds);
  assert_true(seconds < 60);
  assert_true(recv(limited[0], &byte, 1, MSG_DONTWAIT) < 0 && errno != EAGAIN);
  assert_true(recv(unlimited[0], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
  set_interface(true);
  for (int i = 0; i < 2; i++) close(limited[i]), close(unlimited[i]);
}

static void test_the_limits_of_the_ranks(void **unused) {
  (void)unused;
  enum { SECONDS = 60 };
  int pair[2], yes = 0, idle = 0, between = 0, probes = 0;
  unsigned unanswered_ms = 0;
  socklen_t size = sizeof yes;
  connect_pair(pair);
  rank_monitor_limit_silence(pair[0], SECONDS);
  assert_int_equal(getsockopt(pair[0], SOL_SOCKET, SO_KEEPALIVE, &yes, &size), 0);
  assert_int_equal(getsockopt(pair[0], IPPROTO_TCP, TCP_KEEPIDLE, &idle, &size), 0);
  assert_int_equal(getsockopt(pair[0], IPPROTO_TCP, TCP_KEEPINTVL, &between, &size), 0);
  assert_int_equal(getsockopt(pair[0], IPPROTO_TCP, TCP_KEEPCNT, &probes, &size), 0);
  assert_int_equal(getsockopt(pair[0], IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, &size), 0);
  assert_true(yes);
  assert_true(idle + between * probes <= SECONDS && idle + between * probes > SECONDS / 2);
  assert_int_equal(unanswered_ms, SECONDS * 1000); /* limit for data that the peer does not confirm */
  close(pair[0]), close(pair[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_limits_of_the_ranks),
    cmocka_unit_test(test_silence_ends_a_connection),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
