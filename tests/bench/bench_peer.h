/* A third-party environment in Python, stepped alternately with ours: a process that reads a number of seconds, steps
 * for that time, and prints environment steps per second (peers/environment_steps.py). Included by
 * bench_environments.c. */
#ifndef TESTS_BENCH_PEER_H
#define TESTS_BENCH_PEER_H
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct BenchPeer {
  pid_t process;
  FILE *to, *from;       /* NULL: there is no such peer */
} BenchPeer;

/* Ends it; without a process nothing. */
static inline void bench_peer_end(BenchPeer *peer) {
  if (peer->to) fclose(peer->to); /* it ends with its input */
  if (peer->from) fclose(peer->from);
  if (peer->process > 0) waitpid(peer->process, NULL, 0);
  *peer = (BenchPeer){0};
}

static _Noreturn void bench_peer_become(const int to[2], const int from[2], char *const arguments[]) {
  dup2(to[0], 0);
  dup2(from[1], 1);
  for (int file = 3; file < 64; file++) close(file);
  execvp(arguments[0], arguments);
  printf("there is no Python %s\n", arguments[0]);
  fflush(stdout);
  _exit(127);
}

/* Makes the environments. False: it cannot be had; a comment line then says why. python NULL: python3. */
static inline bool bench_peer_start(BenchPeer *peer, const char *python, const char *task, int worlds, int threads) {
  int to[2], from[2];
  char counts[2][16], answer[512] = "";
  *peer = (BenchPeer){0};
  if (pipe(to) != 0 || pipe(from) != 0) return false;
  snprintf(counts[0], sizeof counts[0], "%d", worlds);
  snprintf(counts[1], sizeof counts[1], "%d", threads);
  char *const arguments[] = {(char *)(python && *python ? python : "python3"), "tests/bench/peers/environment_steps.py",
                             (char *)task, counts[0], counts[1], NULL};
  fflush(stdout);
  peer->process = fork();
  if (peer->process == 0) bench_peer_become(to, from, arguments);
  close(to[0]), close(from[1]);
  peer->to = fdopen(to[1], "w");
  peer->from = fdopen(from[0], "r");
  if (peer->process > 0 && fgets(answer, sizeof answer, peer->from) && strcmp(answer, "ready\n") == 0) return true;
  answer[strcspn(answer, "\n")] = '\0';
  printf("# environments, %s in Python alone: %s\n", task, *answer ? answer : "it ended without an answer");
  bench_peer_end(peer);
  return false;
}

/* Returns the environment steps per second over the next `seconds`; 0: the process has exited. */
static inline double bench_peer_turn(BenchPeer *peer, double seconds) {
  char answer[64];
  if (fprintf(peer->to, "%g\n", seconds) < 0 || fflush(peer->to) != 0) return 0;
  return fgets(answer, sizeof answer, peer->from) ? strtod(answer, NULL) : 0;
}

#endif
