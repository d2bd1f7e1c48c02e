/* Star of connections and the thread that watches it (rank_monitor.h). Once connected, ranks send single bytes:
 * STOPPING when a rank was asked to stop, ENDING when the first rank takes the others down, or the number of the signal
 * that is killing the sender. A rank that gives up sends FAILING, the length of its reason as a byte, and the reason.
 */
#include "trainer/ranks/rank_monitor.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "trainer/ranks/ranks.h"

enum { FAILING = 253, STOPPING = 254, ENDING = 255, REASON_MAX = 255 };
enum { PATIENCE_S = 10, SILENCE_S = 60, HEARD_MS = 2000, TOKEN = 16, BACKLOG = 4096 };

/* Address that the first rank broadcasts through MPI, and that each other rank sends first on its connection. */
typedef struct Address { int32_t port; char host[64]; unsigned char token[TOKEN]; } Address;
typedef struct Hello { int32_t rank; unsigned char token[TOKEN]; } Hello;

static struct Lifeline {
  bool up;
  pthread_t thread;
  int wake[2];          /* a byte written to wake[1] ends the thread */
  int count;            /* connections: size - 1 at the first rank, 1 at the others, 0 when there are none */
  struct pollfd *line;  /* [count + 1]; the last one is wake[0] */
  int *rank;            /* [count] rank at the other end */
} monitor;

/* Handler of a death. The lock is held during the call, so that the handler's context cannot be freed meanwhile. */
static struct { pthread_mutex_t lock; RanksOnLoss *call; void *context; } handler = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ranks_on_loss(RanksOnLoss *call, void *context) {
  pthread_mutex_lock(&handler.lock);
  handler.call = call;
  handler.context = context;
  pthread_mutex_unlock(&handler.lock);
}

/* ---- watching -------------------------------------------------------------------------------------------------- */

static void say(unsigned char word) {
  for (int i = 0; i < monitor.count; i++) (void)!send(monitor.line[i].fd, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Ends this process and, from the first rank, all others. message NULL: the first rank has printed why. */
CORE_NORETURN static void end_all(const char *message) {
  pthread_mutex_lock(&handler.lock);
  if (handler.call && message) handler.call(handler.context, message);
  else if (message) fprintf(stderr, "trainer: %s\n", message);
  if (ranks_is_first()) say(ENDING);
  _exit(CORE_FAIL);
}

/* Ends this process: a rank is gone, and MPI cannot continue without it. `word`: the last byte received, or -1. */
CORE_NORETURN static void take_down(int rank, int word) {
  char who[160], message[320];
  ranks_describe(rank, who);
  if (word > 0 && word != ENDING)
    snprintf(message, sizeof message, "%s ended by signal %d (%s)", who, word, strsignal(word));
  else
    snprintf(message, sizeof message, "%s ended without notice: killed (SIGKILL, perhaps out of memory), or its "
             "machine is gone", who);
  end_all(word == ENDING ? NULL : message);
}

/* Ends this process with the reason that a rank sends after FAILING. */
CORE_NORETURN static void take_down_with_reason(int i) {
  unsigned char length = 0;
  char reason[REASON_MAX + 1] = "", who[160], message[160 + REASON_MAX + 4];
  const int fd = monitor.line[i].fd;
  if (recv(fd, &length, 1, MSG_WAITALL) == 1) (void)!recv(fd, reason, length, MSG_WAITALL);
  snprintf(message, sizeof message, "%s: %s", ranks_describe(monitor.rank[i], who), reason);
  end_all(message);
}

void ranks_fail(const char *reason) {
  char who[160], message[1024];
  struct { unsigned char word, length; char reason[REASON_MAX]; } frame = {.word = FAILING};
  snprintf(message, sizeof message, "%s: %s", ranks_describe(ranks_rank(), who), reason);
  if (ranks_is_first()) end_all(message);
  fprintf(stderr, "trainer: %s\n", message);
  frame.length = (unsigned char)(strlen(reason) < REASON_MAX ? strlen(reason) : REASON_MAX);
  memcpy(frame.reason, reason, frame.length);
  struct pollfd first = {.fd = monitor.count > 0 ? monitor.line[0].fd : -1, .events = POLLIN};
  if (first.fd >= 0) (void)!send(first.fd, &frame, 2 + (size_t)frame.length, MSG_NOSIGNAL);
  poll(&first, 1, HEARD_MS); /* the launcher ends all ranks as soon as one is gone */
  _exit(CORE_FAIL);
}

/* State of a stop request: whether this rank knows of one, and has forwarded it. */
static struct { atomic_bool known, is_shared; } stop;

bool rank_monitor_share_stop(bool requested) {
  if (requested) atomic_store(&stop.known, true);
  if (requested && !atomic_exchange(&stop.is_shared, true)) say(STOPPING);
  return atomic_load(&stop.known);
}

/* Raises the limit of open files, often 1024, so that the first rank can hold a connection to each other. */
static void allow_connections(void) {
  enum { OTHER_FILES = 256 };
  const rlim_t needed = (rlim_t)monitor.count + OTHER_FILES;
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= needed) return;
  files.rlim_cur = needed < files.rlim_max ? needed : files.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur < needed)
    core_warn("%d ranks need %llu open files, and the limit is %llu (ulimit -Hn)", monitor.count + 1,
              (unsigned long long)needed, (unsigned long long)files.rlim_cur);
}

/* Handles data or the end of one connection. The first rank forwards a stop to the others. */
static void hear(int i) {
  unsigned char word;
  const ssize_t n = recv(monitor.line[i].fd, &word, 1, MSG_DONTWAIT);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) take_down(monitor.rank[i], -1);
  if (word == FAILING) take_down_with_reason(i);
  if (word != STOPPING) take_down(monitor.rank[i], word);
  rank_monitor_share_stop(true);
}

static void *watch(void *unused) {
  for (;;) {
    if (poll(monitor.line, (nfds_t)monitor.count + 1, -1) < 0) continue;
    if (monitor.line[monitor.count].revents) return NULL;
    for (int i = 0; i < monitor.count; i++)
      if (monitor.line[i].revents) hear(i);
  }
}

/* Sends the number of the signal that kills this rank, then dies of it: the default action is restored by now. Waits
 * for the first rank, since the launcher ends all ranks as soon as one is dead; its reply is to end. */
static void last_word(int signal_number) {
  struct pollfd first = {.fd = monitor.line[0].fd, .events = POLLIN};
  say((unsigned char)signal_number);
  poll(&first, 1, HEARD_MS);
  raise(signal_number);
}

/* ---- connecting ------------------------------------------------------------------------------------------------ */

static int listen_anywhere(Address *address) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
  socklen_t length = sizeof any;
  gethostname(address->host, sizeof address->host - 1);
  if (fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof any) == 0 && listen(fd, BACKLOG) == 0 &&
      getsockname(fd, (struct sockaddr *)&any, &length) == 0 &&
      getrandom(address->token, TOKEN, 0) == TOKEN) {
    address->port = ntohs(any.sin_port);
    return fd;
  }
  if (fd >= 0) close(fd);
  address->port = 0;
  return -1;
}

/* Waits at most PATIENCE_S for a peer that does not respond. */
static void be_patient(int fd) {
  struct timeval patience = {.tv_sec = PATIENCE_S};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

void rank_monitor_limit_silence(int connection, int seconds) {
  enum { PROBES = 3 };
  const int yes = 1, idle = seconds / 2 > 1 ? seconds / 2 : 1, probes = PROBES;
  const int between = (seconds - idle) / PROBES > 1 ? (seconds - idle) / PROBES : 1;
  const unsigned unanswered_ms = (unsigned)seconds * 1000;
  setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

static int connect_to(const Address *address) {
  char own[64] = "", port[16];
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  Hello hello = {.rank = ranks_rank()};
  int fd = -1;

  memcpy(hello.token, address->token, TOKEN);
  gethostname(own, sizeof own - 1);
  snprintf(port, sizeof port, "%d", address->port);
  const char *host = strcmp(own, address->host) == 0 ? "127.0.0.1" : address->host; /* a name may not resolve */
  if (address->port == 0 || getaddrinfo(host, port, &hints, &found) != 0) return -1;

  for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) break;
    be_patient(fd);
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0 &&
        send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == (ssize_t)sizeof hello)
      break;
    close(fd);
    fd = -1;
  }

  freeaddrinfo(found);
  return fd;
}

/* Accepts connections until every rank has one. Peers that do not know the token are rejected. */
static bool accept_all(int listener, const Address *address) {
  struct pollfd waiting = {.fd = listener, .events = POLLIN};
  for (int i = 0; i < monitor.count;) {
    Hello hello;
    if (poll(&waiting, 1, PATIENCE_S * 1000) <= 0) return false;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) continue;
    be_patient(fd);

    if (recv(fd, &hello, sizeof hello, MSG_WAITALL) == (ssize_t)sizeof hello &&
        memcmp(hello.token, address->token, TOKEN) == 0 && hello.rank > 0 && hello.rank < ranks_size()) {
      monitor.line[i].fd = fd;
      monitor.rank[i++] = hello.rank;
    } else {
      close(fd);
    }
  }
  return true;
}

static bool connect_star(void) {
  Address address = {0};
  int listener = ranks_is_first() ? listen_anywhere(&address) : -1;
  ranks_broadcast(&address, sizeof address);
  if (!ranks_is_first()) monitor.line[0].fd = connect_to(&address);
  double missing = !ranks_is_first() && monitor.line[0].fd < 0;
  ranks_max(&missing, 1);
  if (missing == 0 && ranks_is_first()) missing = !accept_all(listener, &address);
  ranks_max(&missing, 1);
  if (listener >= 0) close(listener);
  return missing == 0;
}

/* ---- start and stop -------------------------------------------------------------------------------------------- */

static void start_thread(void) {
  static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  for (int i = 0; i < monitor.count; i++) rank_monitor_limit_silence(monitor.line[i].fd, SILENCE_S);
  monitor.up = pthread_create(&monitor.thread, NULL, watch, NULL) == 0;
  if (!monitor.up || ranks_is_first()) return;
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
    struct sigaction action = {.sa_handler = last_word, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(fatal[i], &action, NULL);
  }
}

static void close_all(void) {
  for (int i = 0; i < monitor.count; i++)
    if (monitor.line[i].fd >= 0) close(monitor.line[i].fd);
  for (int i = 0; i < 2; i++)
    if (monitor.wake[i] >= 0) close(monitor.wake[i]);
  free(monitor.line);
  free(monitor.rank);
  monitor = (struct Lifeline){0};
}

void rank_monitor_start(void) {
  monitor.count = ranks_is_first() ? ranks_size() - 1 : 1;
  monitor.line = core_memory_zero_allocate((size_t)monitor.count + 1, sizeof *monitor.line);
  monitor.rank = core_memory_zero_allocate((size_t)monitor.count, sizeof *monitor.rank);
  if (pipe(monitor.wake) != 0) monitor.wake[0] = monitor.wake[1] = -1;

  for (int i = 0; i <= monitor.count; i++) monitor.line[i] = (struct pollfd){.fd = -1, .events = POLLIN};
  monitor.line[monitor.count].fd = monitor.wake[0];

  allow_connections();
  if (connect_star()) {
    start_thread();
  } else {
    if (ranks_is_first())
      core_warn("the ranks cannot connect to each other by TCP and IPv4, through the address of this machine's host "
                "name: only the launcher will detect a dead rank");
    close_all();
  }
}

void rank_monitor_stop(void) {
  double everybody = 0;
  if (monitor.up) {
    (void)!write(monitor.wake[1], "", 1);
    pthread_join(monitor.thread, NULL);
  }
  ranks_max(&everybody, 1); /* no rank is monitored any more, so ranks may end */
  close_all();
}
