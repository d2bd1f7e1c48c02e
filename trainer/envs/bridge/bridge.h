/* Shared memory between the trainer and a worker process that runs Python environments, and its synchronization. The
 * trainer posts a request, the worker a reply; each side waits on a futex for the other. Both sides use this code: the
 * worker is a Python program that calls bridge_side.c through ctypes, so the layout is defined only here.
 *
 * The memory is a memfd that the worker inherits: it has no name and is freed with its last process. */
#ifndef TRAINER_BRIDGE_H
#define TRAINER_BRIDGE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"
#include "trainer/envs/info.h"

enum { BRIDGE_VERSION = 7, BRIDGE_FACTORS = 64, BRIDGE_TEXT = 8192, BRIDGE_NAME = 128 };

typedef enum BridgeCommand {
  BRIDGE_RESET = 1, BRIDGE_STEP, BRIDGE_QUIT,
  BRIDGE_RESET_EVALUATION, /* a reset after which `info` counts only the first episode of each world */
  BRIDGE_INFO,             /* fills BridgeInfo and its arrays, and clears the worker's sums */
} BridgeCommand;

/* Sequence number that one side increments and the other waits for. */
typedef struct BridgeTurn {
  _Alignas(64) _Atomic uint32_t number;
  _Atomic uint32_t sleepers; /* number of waiting threads */
} BridgeTurn;

/* Adaptive spinning before a futex wait. Waking a core takes tens of microseconds, so spinning pays off if the reply
 * arrives sooner; after unsuccessful spins it backs off exponentially. One per side, not shared. */
typedef struct BridgeSpin {
  int64_t spin_ns;       /* maximum time to spin; 0: none */
  uint32_t backoff;      /* waits without spinning after an unsuccessful spin */
  uint32_t remaining;    /* waits without spinning that remain */
} BridgeSpin;

/* Layout of pixel observations (EnvPixels in env.h). */
typedef struct BridgePicture {
  int32_t height, width, channels, frames, channels_last; /* height 0: not pixels */
} BridgePicture;

/* Observation and action spaces of the environment. */
typedef struct BridgeSpaces {
  int32_t observations;  /* float32 values per world; pixels take four bytes per value */
  BridgePicture picture;
  int32_t lives;         /* 1: `ends` may differ from terminated or truncated */
  int32_t factors;       /* uint8 values of a discrete action; 0: continuous */
  int32_t classes[BRIDGE_FACTORS]; /* [factors] number of classes */
  int32_t values;        /* float32 values of a continuous action; 0: discrete */
  float low, high;       /* bounds of each value; -inf and inf if the environment clips */
  int32_t limit;         /* time limit in steps; 0: unknown */
} BridgeSpaces;

/* Names of the numbers in the worlds' `info`, by column of the arrays info_sums and info_counts. */
typedef struct BridgeInfo {
  char name[ENV_INFO_NAMES][ENV_INFO_NAME]; /* "": unused column */
  char ignored[ENV_INFO_NAME]; /* a name without a column; "": none */
} BridgeInfo;

/* Offsets of the arrays in bytes from the start of the memory. Each is [worlds] or [worlds][columns]. */
typedef struct BridgeArrays {
  uint64_t observations, finals; /* float; finals: last observation of episodes that ended in this step */
  uint64_t actions;              /* float [values] or uint8_t [factors] */
  uint64_t rewards;              /* float */
  uint64_t terminated, truncated; /* uint8_t */
  uint64_t ends;                 /* uint8_t: whether an episode ended for its return and length */
  uint64_t seeds;                /* int64_t, 0 to 2^31 - 1: seeds of the next reset */
  uint64_t info_sums, info_counts; /* double [ENV_INFO_NAMES]: since the last reset or BRIDGE_INFO */
  uint64_t bytes;                /* total size */
} BridgeArrays;

typedef struct Bridge {
  uint32_t version;
  int32_t worlds;
  BridgeSpaces spaces;
  BridgeArrays arrays;
  int32_t command;
  int32_t failed;        /* 1: the request failed with `message` */
  int64_t spin_ns;       /* BridgeSpin of both sides */
  BridgeTurn requests, replies;
  BridgeInfo info;
  char name[BRIDGE_NAME]; /* name and version of the environment */
  char action_space[BRIDGE_TEXT]; /* action space of a single environment as JSON; else "" */
  char message[BRIDGE_TEXT];
} Bridge;

/* Computes the offsets of the arrays. */
BridgeArrays bridge_arrange(const BridgeSpaces *spaces, int32_t worlds);
/* Increments the number and wakes the other side if it waits. */
void bridge_post(BridgeTurn *turn);
/* Waits until turn->number equals `target`, at most timeout_ns. Returns false on a timeout. */
bool bridge_wait(BridgeTurn *turn, uint32_t target, int64_t timeout_ns, BridgeSpin *spin);

/* ---- bridge_spaces.c --------------------------------------------------------------------------------------------- */

/* Observation and action spaces of an environment as JSON, stored in the run's directory so that its policy can be
 * loaded where the environment is not available. */

/* Appends the spaces as JSON. action_space: Bridge.action_space. */
void bridge_spaces_append(const BridgeSpaces *spaces, const char *action_space, CoreText *json);
/* Parses the spaces and appends the action space. CORE_FAIL: invalid JSON. Does not validate the sizes. */
int bridge_spaces_parse(const char *json, BridgeSpaces *spaces, CoreText *action_space);

#endif
