/* A warp of a GPU that steps several worlds at once: where their things are, and how its lanes divide work among them.
 *
 * A world has little to do at any one time (two or three contacts, a joint), so that lanes of its own would mostly
 * idle. The 32 lanes of a warp take the work of all its worlds instead: pairs whose boxes meet, contacts and joints are
 * lists over all of them. What a world needs one of (its order, its result) is done by the lane of its number, its
 * *keeper*. All lanes of a warp go through the same barriers, the warp's own, so that a barrier is one instruction at
 * most.
 *
 * warp_collide.h and warp_step.h are the step itself. */
#ifndef SIM_WARP_H
#define SIM_WARP_H
#include "core/device/device_kernel.h"
#include "sim/physics/wavefronts.h"
#include "sim/task/task.h"

enum {
  SIM_WARP_LANES = 32,
  SIM_WARP_RESIDENT = 16,   /* of a processor: there are registers for no more */
  SIM_WARP_RESERVED = 1024, /* bytes that a block takes of shared memory beside its own */
  SIM_WARP_PASSES = 8,   /* of joints and contacts that shared memory has room for; further ones are in device memory */
  SIM_WARP_IDLE = 0,     /* contact, and joint, of lanes that have none: of a body that does not exist with itself */
};

/* Flags of contacts and joints: which of its bodies can move, and SimPair.forgets. */
enum { SIM_WARP_A_MOVES = 1, SIM_WARP_B_MOVES = 2, SIM_WARP_FORGETS = 4 };

/* Records that lanes read sixteen bytes at a time. Eight neighbouring lanes then meet all banks of shared memory,
 * since a record is an odd number of them. */
#if defined(__cplusplus)
#define SIM_WARP_ALIGN alignas(16)
#else
#define SIM_WARP_ALIGN _Alignas(16)
#endif

/* A contact during a step. */
typedef struct SimWarpContact {
  SIM_WARP_ALIGN SimVec normal;
  SimVec point;
  SimMass a_mass, b_mass;
  real penetration, restitution_target, friction;
  uint16_t a, b;         /* where its bodies are in SimWarp.body, in bytes */
  SimVec impulse;
  uint8_t place;         /* as in SimWavefrontContact */
  uint8_t flags, slot;   /* slot: as in SimPair */
  uint8_t world;         /* whose it is */
  uint8_t ordinal;       /* which of that world's in the order of listing */
  uint8_t kind, round, rank; /* round: which of its pair's; rank: of the pair, see sim_wavefronts_group */
  uint8_t ends[2];       /* its bodies as in SimWavefrontContact */
} SimWarpContact;

/* A joint during a step: what sim_joint_resolve reads of SimJointModel and SimJointStep. */
typedef struct SimWarpJoint {
  SIM_WARP_ALIGN real a_share;
  real b_share, inverse_sum_mass, inverse_sum_inertia;
  SimMass a_mass, b_mass;
  SimVec a_arm, b_arm;
  SimVec impulse;
  real spin_impulse, spin_bias;
  uint16_t a, b;         /* as in SimWarpContact */
  uint8_t flags, fixed, spins;
  real spin;             /* the motor's */
} SimWarpJoint;

/* What lanes must know of a world. */
typedef struct SimWarpWorld {
  const SimModel *model;  /* device memory */
  SimWorld *state;        /* device memory */
  SimCommand command;
  uint16_t hit, contact;  /* where its part of the hits begins, and of the list of turns */
  uint8_t touched, made;  /* so far: overlapping pairs of the present kind, contacts */
  uint8_t lead[SIM_PAIR_KINDS], spare[7]; /* SimDeal.lead of each kind */
} SimWarpWorld;

/* Where a warp's things are, in bytes from the beginning of its shared memory; the same for all warps of a launch.
 * Room is used again: joints lie where the boxes were, seats and turns where the hits were. */
typedef struct SimWarpLayout {
  int worlds, shapes, joints, wavefronts; /* of a warp; of a world: as its size has them; wavefronts: at most */
  int room, overflow, passes;        /* contacts that there is room for; further ones, and passes, in device memory */
  int hits;                          /* at most, of a warp and a kind and 32 pairs */
  int pair_words, warm_words;        /* of SimWorld.touching and .warm that a world of this size uses */
  uint32_t bodies, boxes;            /* from one world's to the next's, in bytes: an odd number of sixteen */
  uint32_t world, box, contact, meets, hit, seat, turn, order, bytes; /* bodies are at 0 */
  uint32_t far_turn, far_order, far_bytes; /* of a warp's device memory; contacts are at 0 */
} SimWarpLayout;

/* A lane's view of its warp. */
typedef struct SimWarp {
  const CoreDeviceThread *at;
  const SimWarpLayout *layout;
  unsigned lane, count;         /* count: worlds that the warp has now, at most layout->worlds */
  unsigned mine, part, parts;   /* of what is divided by worlds: every parts-th of world `mine`, from part on */
  uint32_t earlier;             /* bits of the lanes before this one */
  SimWarpWorld *world;          /* shared memory, [worlds] */
  char *body;                   /* SimBody [worlds][shapes] (sim_warp_bodies), and the idle one */
  char *box;                    /* SimBox [worlds][shapes] (sim_warp_boxes), until all pairs are tested; then */
  SimWarpJoint *joint;          /* [1 + worlds * joints], the idle one first */
  SimWarpContact *contact;      /* [1 + room], the idle one first */
  SimWavefrontContact *turn;         /* [contacts]: world by world, in the order of listing */
  uint32_t *meets;              /* [lanes]: bits of pairs whose boxes meet */
  uint16_t *hit;                /* [hits]: of a kind, world by world: 256 * world + pair; until all pairs are tested */
  uint16_t *seat;               /* [worlds][wavefronts]: where each wavefront sits, 32 * pass + its first lane */
  uint16_t *order;              /* [passes][lanes]: what a lane applies: passes of joints, then those of contacts */
  char *far_memory;             /* device memory: what the above have no room for */
  int joint_passes;
} SimWarp;

SIM_FN uint32_t sim_warp_place(uint32_t *end, size_t bytes, uint32_t alignment) {
  const uint32_t start = (*end + alignment - 1) / alignment * alignment;
  *end = start + (uint32_t)bytes;
  return start;
}

/* For `worlds` worlds of a size (a power of two up to SIM_WARP_LANES), with as much room for contacts as
 * `budget` bytes leave: at least one a world. The kernels' shared memory is layout.bytes, and their device memory
 * far_bytes, a warp. */
SIM_FN SimWarpLayout sim_warp_layout(SimSize size, int worlds, size_t budget) {
  const size_t crowd = (size_t)worlds;
  SimWarpLayout l;
  int contacts = worlds * sim_model_contacts(size), pairs = 0, most = 0, groups = 0;
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) {
    const int n = sim_model_pairs(size, kind);
    pairs += n;
    most = n > most ? n : most;
    groups += (int)sim_step_deal(n, 0).batches * (kind == SIM_RR ? 2 : 1);
  }
  l.worlds = worlds;
  l.shapes = size.polygons + size.circles;
  l.joints = size.joints;
  l.wavefronts = groups > size.joints ? groups : size.joints;
  l.hits = worlds * (most < 32 ? most : 32);
  l.pair_words = (pairs + 31) / 32;
  l.warm_words = (sim_model_contacts(size) + 63) / 64;
  l.bodies = (uint32_t)((size_t)l.shapes * sizeof(SimBody) + 16);
  l.boxes = (uint32_t)((size_t)(l.shapes | 1) * sizeof(SimBox));
  const size_t boxes = crowd * l.boxes, seats = (size_t)(worlds * l.wavefronts) * sizeof(uint16_t);
  const size_t joints = (1 + crowd * (size_t)l.joints) * sizeof(SimWarpJoint);
  l.bytes = (uint32_t)(crowd * l.bodies + sizeof(SimBody));
  l.box = sim_warp_place(&l.bytes, boxes > joints ? boxes : joints, 16);
  l.world = sim_warp_place(&l.bytes, crowd * sizeof(SimWarpWorld), 16);
  l.order = sim_warp_place(&l.bytes, SIM_WARP_PASSES * SIM_WARP_LANES * sizeof(uint16_t), 4);
  l.contact = sim_warp_place(&l.bytes, sizeof(SimWarpContact), 16);
  const size_t part = SIM_WARP_LANES * sizeof(uint32_t), found = (size_t)l.hits * sizeof(uint16_t);
  const size_t lists = part > found ? part : found, rest = budget > l.bytes ? budget - l.bytes : 0;
  const size_t turns = rest > seats ? (rest - seats) / (sizeof(SimWarpContact) + sizeof(SimWavefrontContact)) : 0;
  l.room = (int)(rest > lists ? (rest - lists) / sizeof(SimWarpContact) : 0);
  if (l.room > (int)turns) l.room = (int)turns;
  if (l.room < worlds) l.room = worlds;
  if (l.room > contacts) l.room = contacts;
  l.bytes += (uint32_t)((size_t)l.room * sizeof(SimWarpContact));
  l.meets = l.hit = l.seat = l.bytes;
  l.turn = l.seat + (uint32_t)((seats + 3) / 4 * 4);
  const size_t used = l.turn - l.seat + (size_t)l.room * sizeof(SimWavefrontContact);
  l.bytes = (l.bytes + (uint32_t)(used > lists ? used : lists) + 15) / 16 * 16;
  l.overflow = contacts - l.room;
  l.passes = worlds * (l.wavefronts + l.joints); /* a pass has a wavefront of one world at least */
  l.far_turn = (uint32_t)((size_t)l.overflow * sizeof(SimWarpContact));
  const size_t far_turns = (size_t)(l.overflow > 0 ? contacts : 0) * sizeof(SimWavefrontContact);
  l.far_order = l.far_turn + (uint32_t)((far_turns + 15) / 16 * 16);
  l.far_bytes = l.far_order + (uint32_t)((size_t)l.passes * SIM_WARP_LANES * sizeof(uint16_t));
  return l;
}

/* The layout with which most warps find room on a processor of `shared` bytes for its blocks: at most
 * SIM_WARP_RESIDENT, and no more than leave room for as many contacts as worlds mostly have
 * (docs/cuda-measurements.md). */
SIM_FN SimWarpLayout sim_warp_fit(SimSize size, int worlds, size_t shared) {
  const int wanted = worlds * (size.joints > 4 ? 9 : 5) / 2;
  for (size_t warps = SIM_WARP_RESIDENT; warps > 1; warps--) {
    const SimWarpLayout layout = sim_warp_layout(size, worlds, shared / warps - SIM_WARP_RESERVED);
    if (layout.room >= wanted && (layout.bytes + SIM_WARP_RESERVED) * warps <= shared) return layout;
  }
  return sim_warp_layout(size, worlds, shared - SIM_WARP_RESERVED);
}

/* A lane's view of warp number `warp` of the launch, whose shared memory is the block's: a block is one warp. */
SIM_FN SimWarp sim_warp_of(const CoreDeviceThread *at, const SimWarpLayout *layout, char *far_memory) {
  char *share = (char *)at->shared;
  SimWarp t;
  t.at = at;
  t.layout = layout;
  t.lane = at->thread;
  t.count = 0;
  t.mine = t.lane % (unsigned)layout->worlds;
  t.part = t.lane / (unsigned)layout->worlds;
  t.parts = SIM_WARP_LANES / (unsigned)layout->worlds;
  t.earlier = (1u << t.lane) - 1;
  t.world = (SimWarpWorld *)(share + layout->world);
  t.body = share;
  t.box = share + layout->box;
  t.joint = (SimWarpJoint *)(share + layout->box);
  t.contact = (SimWarpContact *)(share + layout->contact);
  t.turn = (SimWavefrontContact *)(share + layout->turn);
  t.meets = (uint32_t *)(share + layout->meets);
  t.hit = (uint16_t *)(share + layout->hit);
  t.seat = (uint16_t *)(share + layout->seat);
  t.order = (uint16_t *)(share + layout->order);
  t.far_memory = far_memory + (size_t)at->block * layout->far_bytes;
  t.joint_passes = 0;
  return t;
}

CORE_KERNEL_FN void sim_group_barrier(const SimWarp *t) { core_device_group_barrier(t->at, SIM_WARP_LANES); }
CORE_KERNEL_FN uint32_t sim_warp_ballot(const SimWarp *t, int vote) {
  return core_device_ballot(t->at, SIM_WARP_LANES, vote);
}

/* Whether this lane is some world's keeper, and whether its share of divided work is some world's. */
SIM_FN bool sim_warp_keeps(const SimWarp *t) { return t->lane < t->count; }
SIM_FN bool sim_warp_works(const SimWarp *t) { return t->mine < t->count; }
SIM_FN SimBody *sim_warp_bodies(const SimWarp *t, unsigned world) {
  return (SimBody *)__builtin_assume_aligned(t->body + world * t->layout->bodies, 16);
}
SIM_FN SimBox *sim_warp_boxes(const SimWarp *t, unsigned world) {
  return (SimBox *)__builtin_assume_aligned(t->box + world * t->layout->boxes, 16);
}

/* Bits below n <= 32. */
SIM_FN uint32_t sim_warp_below(unsigned n) { return n >= 32 ? 0xffffffffu : (1u << n) - 1; }

/* Contact number i, from 1 on; near: shared memory has room for all. */
SIM_FN SimWarpContact *sim_warp_contact(const SimWarp *t, unsigned i, bool near) {
  const unsigned room = (unsigned)t->layout->room;
  return near || i <= room ? &t->contact[i] : (SimWarpContact *)t->far_memory + (i - room - 1);
}

/* The turns of so many contacts. */
SIM_FN SimWavefrontContact *sim_warp_turns(const SimWarp *t, int contacts) {
  return contacts <= t->layout->room ? t->turn : (SimWavefrontContact *)(t->far_memory + t->layout->far_turn);
}

/* Where this lane's contact or joint of a pass stands; near: shared memory has room for all passes. */
SIM_FN uint16_t *sim_warp_order(const SimWarp *t, int pass, bool near) {
  uint16_t *far_order = (uint16_t *)(t->far_memory + t->layout->far_order) - SIM_WARP_PASSES * SIM_WARP_LANES;
  return (near || pass < SIM_WARP_PASSES ? t->order : far_order) + pass * SIM_WARP_LANES + (int)t->lane;
}

/* A body of a contact or joint. That it is aligned lets the compiler read it in few pieces. */
SIM_FN SimBody *sim_warp_body(const SimWarp *t, unsigned at) {
  return (SimBody *)__builtin_assume_aligned(t->body + at, 16);
}
SIM_FN uint16_t sim_warp_place_of(const SimWarp *t, unsigned world, unsigned shape) {
  return (uint16_t)(world * t->layout->bodies + shape * (unsigned)sizeof(SimBody));
}

/* The two idle ones, and their body. */
CORE_KERNEL_FN void sim_warp_idle_joint(const SimWarp *t) {
  SimWarpJoint idle;
  memset(&idle, 0, sizeof idle);
  idle.a = idle.b = sim_warp_place_of(t, (unsigned)t->layout->worlds, 0);
  t->joint[SIM_WARP_IDLE] = idle;
}
CORE_KERNEL_FN void sim_warp_idle_contact(const SimWarp *t) {
  SimWarpContact idle;
  memset(&idle, 0, sizeof idle);
  idle.a = idle.b = sim_warp_place_of(t, (unsigned)t->layout->worlds, 0);
  idle.place = SIM_WAVEFRONT_ALONE;
  t->contact[SIM_WARP_IDLE] = idle;
  memset(sim_warp_body(t, idle.a), 0, sizeof(SimBody));
}

/* Sums of a number of each lane's: over the lanes before it, and over all. As many ballots as the largest has bits,
 * and as many to see that. */
typedef struct SimWarpSum { unsigned before, all; } SimWarpSum;
CORE_KERNEL_FN SimWarpSum sim_warp_sum(const SimWarp *t, unsigned n) {
  SimWarpSum sum = {0, 0};
  for (unsigned bit = 0; sim_warp_ballot(t, n >> bit != 0); bit++) {
    const uint32_t votes = sim_warp_ballot(t, (int)(n >> bit & 1u));
    sum.before += core_device_count_bits(votes & t->earlier) << bit;
    sum.all += core_device_count_bits(votes) << bit;
  }
  return sum;
}

/* Packs the wavefronts of all worlds into passes of at most 32 (contacts or joints), a world's wavefronts into
 * passes one after the other: a pass takes the next wavefront of each world for which there is room, first of those
 * worlds that have further ones, since they would need further passes. sizes, sharing: of the keeper's
 * world, as in SimWavefronts; 0 where the lane keeps none. Writes `seat`, empties the passes of `order` from `first`
 * on, and gives their number; *shared_out: bits of the passes, from the first, with a wavefront that shares bodies
 * (bit 31 for all from there on). */
CORE_KERNEL_FN int sim_warp_pack(const SimWarp *t, int first, uint64_t sizes, unsigned sharing, uint32_t *shared_out) {
  uint16_t *seat = t->seat + t->lane * (unsigned)t->layout->wavefronts;
  int pass = 0;
  *shared_out = 0;
  for (;; pass++) {
    const unsigned size = (unsigned)sizes & SIM_WAVEFRONT_MOST;
    const bool more = sizes >> SIM_WAVEFRONT_BITS != 0;
    const SimWarpSum first_ones = sim_warp_sum(t, more ? size : 0), others = sim_warp_sum(t, more ? 0 : size);
    if (first_ones.all + others.all == 0) return pass;
    const unsigned before = more ? first_ones.before : first_ones.all + others.before;
    const bool granted = size > 0 && before + size <= SIM_WARP_LANES;
    if (sim_warp_ballot(t, granted && sharing & 1u)) *shared_out |= 1u << (pass < 31 ? pass : 31);
    *sim_warp_order(t, first + pass, false) = SIM_WARP_IDLE;
    if (!granted) continue;
    *seat++ = (uint16_t)(SIM_WARP_LANES * (unsigned)pass + before);
    sizes >>= SIM_WAVEFRONT_BITS;
    sharing >>= 1;
  }
}

/* Puts `number` where a seat of a wavefront is: wavefront `wavefront` of a world, `further` places on. */
CORE_KERNEL_FN void sim_warp_seat(const SimWarp *t, int first, unsigned world, unsigned wavefront, unsigned further,
                                  unsigned number) {
  const unsigned seat = t->seat[world * (unsigned)t->layout->wavefronts + wavefront] + further;
  uint16_t *const order = sim_warp_order(t, first + (int)(seat / SIM_WARP_LANES), false) - t->lane;
  order[seat % SIM_WARP_LANES] = (uint16_t)number;
}

#endif
