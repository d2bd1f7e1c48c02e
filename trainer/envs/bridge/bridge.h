/* The memory that the trainer shares with a worker process, in which somebody else's environment runs, and how the two
 * take turns. The trainer asks, the worker answers; each sleeps on a futex while it is the other's turn. Both sides are
 * this C: the worker is a Python program that calls bridge_side.c through ctypes, so that the layout stands here only.
 *
 * The memory is a memfd that the worker inherits: it has no name, and goes with its last process. */
#ifndef TRAINER_BRIDGE_H
#define TRAINER_BRIDGE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BRIDGE_VERSION = 5, BRIDGE_FACTORS = 32, BRIDGE_TEXT = 8192, BRIDGE_NAME = 128 };

typedef enum BridgeCommand { BRIDGE_RESET = 1, BRIDGE_STEP, BRIDGE_QUIT } BridgeCommand;

/* A count of turns that one side raises and the other waits for. */
typedef struct BridgeTurn {
  _Alignas(64) _Atomic uint32_t number;
  _Atomic uint32_t sleepers;
} BridgeTurn;

/* How long one side looks at a turn before it sleeps. A core that wakes takes tens of microseconds, so looking pays
 * where answers come within them; where they do not, or where others want the processor, it is done ever more seldom.
 * Each side has its own, not shared. */
typedef struct BridgePatience {
  int64_t look_ns;       /* 0: sleeps at once */
  uint32_t pause, left;  /* waits without a look after the last one in vain; of which so many are left */
} BridgePatience;

/* An observation that is a picture; as EnvPixels (env.h). */
typedef struct BridgePicture {
  int32_t height, width, channels, frames, channels_last; /* height 0: it is numbers */
} BridgePicture;

/* What the environment sees and takes. */
typedef struct BridgeSpaces {
  int32_t observations;  /* numbers a world, float32; of a picture the bytes, four to a number */
  BridgePicture picture;
  int32_t lives;         /* 1: `ends` can differ from the ends that the learner sees */
  int32_t factors;       /* an action of classes: so many numbers, uint8; 0: of real numbers */
  int32_t classes[BRIDGE_FACTORS];
  int32_t values;        /* an action of so many real numbers, float32 */
  float low, high;       /* their bounds, of all; -inf and inf where the environment itself cuts them */
  int32_t limit;         /* steps of the longest episode; 0: not known */
} BridgeSpaces;

/* Where arrays begin, in bytes from the start of the memory. Each is [worlds] or [worlds][columns]. */
typedef struct BridgeArrays {
  uint64_t observations, finals; /* float; finals: the last observation of episodes that ended in this step */
  uint64_t actions;              /* float [values] or uint8_t [factors] */
  uint64_t rewards;              /* float */
  uint64_t terminated, truncated; /* uint8_t */
  uint64_t ends;                 /* uint8_t: episodes that ended as they are counted */
  uint64_t seeds;                /* int64_t, 0 to 2^31 - 1: of the next reset */
  uint64_t bytes;                /* of the whole */
} BridgeArrays;

typedef struct Bridge {
  uint32_t version;
  int32_t worlds;
  BridgeSpaces spaces;
  BridgeArrays arrays;
  int32_t command;
  int32_t failed;        /* the answer is `message` */
  int64_t look_ns;       /* BridgePatience of both sides */
  BridgeTurn asked, answered;
  char name[BRIDGE_NAME]; /* what the environment calls itself, with its version */
  char action_space[BRIDGE_TEXT]; /* of a single environment: what its step takes, as JSON; else "" */
  char message[BRIDGE_TEXT];
} Bridge;

/* Where arrays of these sizes go. */
BridgeArrays bridge_arrange(const BridgeSpaces *spaces, int32_t worlds);
/* One turn more; wakes the other side if it sleeps. */
void bridge_raise(BridgeTurn *turn);
/* Waits until turn.number is `wanted`, at most timeout_ns. False: it is not yet. */
bool bridge_wait(BridgeTurn *turn, uint32_t wanted, int64_t timeout_ns, BridgePatience *patience);

#endif
