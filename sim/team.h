/* A warp of a GPU that steps several worlds at once: where their things are, and how its lanes divide work among them.
 *
 * A world has little to do at any one time (two or three contacts, a joint), so that lanes of its own would mostly
 * idle. The 32 lanes of a team take the work of all its worlds instead: pairs whose boxes meet, contacts and joints are
 * lists over all of them. What a world needs one of (its order, its result) is done by the lane of its number, its
 * *keeper*. All lanes of a team go through the same barriers, the warp's own, so that a barrier is one instruction at
 * most.
 *
 * team_collide.h and step_team.h are the step itself. */
#ifndef SIM_TEAM_H
#define SIM_TEAM_H
#include "core/device_kernel.h"
#include "sim/task.h"
#include "sim/waves.h"

enum {
  SIM_TEAM_LANES = 32,
  SIM_TEAM_TEAMS = 16,   /* of a processor: there are registers for no more */
  SIM_TEAM_RESERVED = 1024, /* bytes that a block takes of shared memory beside its own */
  SIM_TEAM_PASSES = 8,   /* of joints and contacts that shared memory has room for; further ones are in device memory */
  SIM_TEAM_IDLE = 0,     /* contact, and joint, of lanes that have none: of a body that does not exist with itself */
};

/* Flags of contacts and joints: which of its bodies can move, and SimPair.forgets. */
enum { SIM_TEAM_A_MOVES = 1, SIM_TEAM_B_MOVES = 2, SIM_TEAM_FORGETS = 4 };

/* Records that lanes read sixteen bytes at a time. Eight neighbouring lanes then meet all banks of shared memory,
 * since a record is an odd number of them. */
#if defined(__cplusplus)
#define SIM_TEAM_ALIGN alignas(16)
#else
#define SIM_TEAM_ALIGN _Alignas(16)
#endif

/* A contact during a step. */
typedef struct SimTeamContact {
  SIM_TEAM_ALIGN SimVec normal;
  SimVec point;
  SimMass a_mass, b_mass;
  real penetration, restitution_target, friction;
  uint16_t a, b;         /* where its bodies are in SimTeam.body, in bytes */
  SimVec impulse;
  uint8_t place;         /* as in SimWaveContact */
  uint8_t flags, slot;   /* slot: as in SimPair */
  uint8_t world;         /* whose it is */
  uint8_t ordinal;       /* which of that world's in the order of listing */
  uint8_t kind, round, rank; /* round: which of its pair's; rank: of the pair, see sim_waves_group */
  uint8_t ends[2];       /* its bodies as in SimWaveContact */
} SimTeamContact;

/* A joint during a step: what sim_joint_resolve reads of SimJointModel and SimJointStep. */
typedef struct SimTeamJoint {
  SIM_TEAM_ALIGN real a_share;
  real b_share, inverse_sum_mass, inverse_sum_inertia;
  SimMass a_mass, b_mass;
  SimVec a_arm, b_arm;
  SimVec impulse;
  real spin_impulse, spin_bias;
  uint16_t a, b;         /* as in SimTeamContact */
  uint8_t flags, fixed, spins;
  real spin;             /* the motor's */
} SimTeamJoint;

/* What lanes must know of a world. */
typedef struct SimTeamWorld {
  const SimModel *model;  /* device memory */
  SimWorld *state;        /* device memory */
  SimCommand command;
  uint16_t hit, contact;  /* where its part of the hits begins, and of the list of turns */
  uint8_t touched, made;  /* so far: overlapping pairs of the present kind, contacts */
  uint8_t lead[SIM_PAIR_KINDS], spare[7]; /* SimDeal.lead of each kind */
} SimTeamWorld;

/* Where a team's things are, in bytes from the beginning of its shared memory; the same for all teams of a launch.
 * Room is used again: joints lie where the boxes were, seats and turns where the hits were. */
typedef struct SimTeamLayout {
  int worlds, shapes, joints, waves; /* of a team; of a world: as its size has them; waves: at most */
  int room, overflow, passes;        /* contacts that there is room for; further ones, and passes, in device memory */
  int hits;                          /* at most, of a team and a kind and 32 pairs */
  int pair_words, warm_words;        /* of SimWorld.touching and .warm that a world of this size uses */
  uint32_t bodies, boxes;            /* from one world's to the next's, in bytes: an odd number of sixteen */
  uint32_t world, box, contact, meets, hit, seat, turn, order, bytes; /* bodies are at 0 */
  uint32_t far_turn, far_order, far_bytes; /* of a team's device memory; contacts are at 0 */
} SimTeamLayout;

/* A lane's view of its team. */
typedef struct SimTeam {
  const CoreDeviceThread *at;
  const SimTeamLayout *layout;
  unsigned lane, count;         /* count: worlds that the team has now, at most layout->worlds */
  unsigned mine, part, parts;   /* of what is divided by worlds: every parts-th of world `mine`, from part on */
  uint32_t earlier;             /* bits of the lanes before this one */
  SimTeamWorld *world;          /* shared memory, [worlds] */
  char *body;                   /* SimBody [worlds][shapes] (sim_team_bodies), and the idle one */
  char *box;                    /* SimBox [worlds][shapes] (sim_team_boxes), until all pairs are tested; then */
  SimTeamJoint *joint;          /* [1 + worlds * joints], the idle one first */
  SimTeamContact *contact;      /* [1 + room], the idle one first */
  SimWaveContact *turn;         /* [contacts]: world by world, in the order of listing */
  uint32_t *meets;              /* [lanes]: bits of pairs whose boxes meet */
  uint16_t *hit;                /* [hits]: of a kind, world by world: 256 * world + pair; until all pairs are tested */
  uint16_t *seat;               /* [worlds][waves]: where each wave sits, 32 * pass + its first lane */
  uint16_t *order;              /* [passes][lanes]: what a lane applies: passes of joints, then those of contacts */
  char *far_memory;             /* device memory: what the above have no room for */
  int joint_passes;
} SimTeam;

SIM_FN uint32_t sim_team_place(uint32_t *end, size_t bytes, uint32_t alignment) {
  const uint32_t start = (*end + alignment - 1) / alignment * alignment;
  *end = start + (uint32_t)bytes;
  return start;
}

/* For `worlds` worlds of a size (a power of two up to SIM_TEAM_LANES), with as much room for contacts as
 * `budget` bytes leave: at least one a world. The kernels' shared memory is layout.bytes, and their device memory
 * far_bytes, a team. */
SIM_FN SimTeamLayout sim_team_layout(SimSize size, int worlds, size_t budget) {
  const size_t crowd = (size_t)worlds;
  SimTeamLayout l;
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
  l.waves = groups > size.joints ? groups : size.joints;
  l.hits = worlds * (most < 32 ? most : 32);
  l.pair_words = (pairs + 31) / 32;
  l.warm_words = (sim_model_contacts(size) + 63) / 64;
  l.bodies = (uint32_t)((size_t)l.shapes * sizeof(SimBody) + 16);
  l.boxes = (uint32_t)((size_t)(l.shapes | 1) * sizeof(SimBox));
  const size_t boxes = crowd * l.boxes, seats = (size_t)(worlds * l.waves) * sizeof(uint16_t);
  const size_t joints = (1 + crowd * (size_t)l.joints) * sizeof(SimTeamJoint);
  l.bytes = (uint32_t)(crowd * l.bodies + sizeof(SimBody));
  l.box = sim_team_place(&l.bytes, boxes > joints ? boxes : joints, 16);
  l.world = sim_team_place(&l.bytes, crowd * sizeof(SimTeamWorld), 16);
  l.order = sim_team_place(&l.bytes, SIM_TEAM_PASSES * SIM_TEAM_LANES * sizeof(uint16_t), 4);
  l.contact = sim_team_place(&l.bytes, sizeof(SimTeamContact), 16);
  const size_t part = SIM_TEAM_LANES * sizeof(uint32_t), found = (size_t)l.hits * sizeof(uint16_t);
  const size_t lists = part > found ? part : found, rest = budget > l.bytes ? budget - l.bytes : 0;
  const size_t turns = rest > seats ? (rest - seats) / (sizeof(SimTeamContact) + sizeof(SimWaveContact)) : 0;
  l.room = (int)(rest > lists ? (rest - lists) / sizeof(SimTeamContact) : 0);
  if (l.room > (int)turns) l.room = (int)turns;
  if (l.room < worlds) l.room = worlds;
  if (l.room > contacts) l.room = contacts;
  l.bytes += (uint32_t)((size_t)l.room * sizeof(SimTeamContact));
  l.meets = l.hit = l.seat = l.bytes;
  l.turn = l.seat + (uint32_t)((seats + 3) / 4 * 4);
  const size_t used = l.turn - l.seat + (size_t)l.room * sizeof(SimWaveContact);
  l.bytes = (l.bytes + (uint32_t)(used > lists ? used : lists) + 15) / 16 * 16;
  l.overflow = contacts - l.room;
  l.passes = worlds * (l.waves + l.joints); /* a pass has a wave of one world at least */
  l.far_turn = (uint32_t)((size_t)l.overflow * sizeof(SimTeamContact));
  const size_t far_turns = (size_t)(l.overflow > 0 ? contacts : 0) * sizeof(SimWaveContact);
  l.far_order = l.far_turn + (uint32_t)((far_turns + 15) / 16 * 16);
  l.far_bytes = l.far_order + (uint32_t)((size_t)l.passes * SIM_TEAM_LANES * sizeof(uint16_t));
  return l;
}

/* The layout with which most teams find room on a processor of `shared` bytes for its blocks: at most
 * SIM_TEAM_TEAMS, and no more than leave room for as many contacts as worlds mostly have (docs/cuda.md). */
SIM_FN SimTeamLayout sim_team_fit(SimSize size, int worlds, size_t shared) {
  const int wanted = worlds * (size.joints > 4 ? 9 : 5) / 2;
  for (size_t teams = SIM_TEAM_TEAMS; teams > 1; teams--) {
    const SimTeamLayout layout = sim_team_layout(size, worlds, shared / teams - SIM_TEAM_RESERVED);
    if (layout.room >= wanted && (layout.bytes + SIM_TEAM_RESERVED) * teams <= shared) return layout;
  }
  return sim_team_layout(size, worlds, shared - SIM_TEAM_RESERVED);
}

/* A lane's view of team number `team` of the launch, whose shared memory is the block's: a block is one team. */
SIM_FN SimTeam sim_team_of(const CoreDeviceThread *at, const SimTeamLayout *layout, char *far_memory) {
  char *share = (char *)at->shared;
  SimTeam t;
  t.at = at;
  t.layout = layout;
  t.lane = at->thread;
  t.count = 0;
  t.mine = t.lane % (unsigned)layout->worlds;
  t.part = t.lane / (unsigned)layout->worlds;
  t.parts = SIM_TEAM_LANES / (unsigned)layout->worlds;
  t.earlier = (1u << t.lane) - 1;
  t.world = (SimTeamWorld *)(share + layout->world);
  t.body = share;
  t.box = share + layout->box;
  t.joint = (SimTeamJoint *)(share + layout->box);
  t.contact = (SimTeamContact *)(share + layout->contact);
  t.turn = (SimWaveContact *)(share + layout->turn);
  t.meets = (uint32_t *)(share + layout->meets);
  t.hit = (uint16_t *)(share + layout->hit);
  t.seat = (uint16_t *)(share + layout->seat);
  t.order = (uint16_t *)(share + layout->order);
  t.far_memory = far_memory + (size_t)at->block * layout->far_bytes;
  t.joint_passes = 0;
  return t;
}

CORE_KERNEL_FN void sim_team_barrier(const SimTeam *t) { core_device_team_barrier(t->at, SIM_TEAM_LANES); }
CORE_KERNEL_FN uint32_t sim_team_ballot(const SimTeam *t, int vote) {
  return core_device_ballot(t->at, SIM_TEAM_LANES, vote);
}

/* Whether this lane is some world's keeper, and whether its share of divided work is some world's. */
SIM_FN bool sim_team_keeps(const SimTeam *t) { return t->lane < t->count; }
SIM_FN bool sim_team_works(const SimTeam *t) { return t->mine < t->count; }
SIM_FN SimBody *sim_team_bodies(const SimTeam *t, unsigned world) {
  return (SimBody *)__builtin_assume_aligned(t->body + world * t->layout->bodies, 16);
}
SIM_FN SimBox *sim_team_boxes(const SimTeam *t, unsigned world) {
  return (SimBox *)__builtin_assume_aligned(t->box + world * t->layout->boxes, 16);
}

/* Bits below n <= 32. */
SIM_FN uint32_t sim_team_below(unsigned n) { return n >= 32 ? 0xffffffffu : (1u << n) - 1; }

/* Contact number i, from 1 on; near: shared memory has room for all. */
SIM_FN SimTeamContact *sim_team_contact(const SimTeam *t, unsigned i, bool near) {
  const unsigned room = (unsigned)t->layout->room;
  return near || i <= room ? &t->contact[i] : (SimTeamContact *)t->far_memory + (i - room - 1);
}

/* The turns of so many contacts. */
SIM_FN SimWaveContact *sim_team_turns(const SimTeam *t, int contacts) {
  return contacts <= t->layout->room ? t->turn : (SimWaveContact *)(t->far_memory + t->layout->far_turn);
}

/* Where this lane's contact or joint of a pass stands; near: shared memory has room for all passes. */
SIM_FN uint16_t *sim_team_order(const SimTeam *t, int pass, bool near) {
  uint16_t *far_order = (uint16_t *)(t->far_memory + t->layout->far_order) - SIM_TEAM_PASSES * SIM_TEAM_LANES;
  return (near || pass < SIM_TEAM_PASSES ? t->order : far_order) + pass * SIM_TEAM_LANES + (int)t->lane;
}

/* A body of a contact or joint. That it is aligned lets the compiler read it in few pieces. */
SIM_FN SimBody *sim_team_body(const SimTeam *t, unsigned at) {
  return (SimBody *)__builtin_assume_aligned(t->body + at, 16);
}
SIM_FN uint16_t sim_team_place_of(const SimTeam *t, unsigned world, unsigned shape) {
  return (uint16_t)(world * t->layout->bodies + shape * (unsigned)sizeof(SimBody));
}

/* The two idle ones, and their body. */
CORE_KERNEL_FN void sim_team_idle_joint(const SimTeam *t) {
  SimTeamJoint idle;
  memset(&idle, 0, sizeof idle);
  idle.a = idle.b = sim_team_place_of(t, (unsigned)t->layout->worlds, 0);
  t->joint[SIM_TEAM_IDLE] = idle;
}
CORE_KERNEL_FN void sim_team_idle_contact(const SimTeam *t) {
  SimTeamContact idle;
  memset(&idle, 0, sizeof idle);
  idle.a = idle.b = sim_team_place_of(t, (unsigned)t->layout->worlds, 0);
  idle.place = SIM_WAVE_ALONE;
  t->contact[SIM_TEAM_IDLE] = idle;
  memset(sim_team_body(t, idle.a), 0, sizeof(SimBody));
}

/* Sums of a number of each lane's: over the lanes before it, and over all. As many ballots as the largest has bits,
 * and as many to see that. */
typedef struct SimTeamSum { unsigned before, all; } SimTeamSum;
CORE_KERNEL_FN SimTeamSum sim_team_sum(const SimTeam *t, unsigned n) {
  SimTeamSum sum = {0, 0};
  for (unsigned bit = 0; sim_team_ballot(t, n >> bit != 0); bit++) {
    const uint32_t votes = sim_team_ballot(t, (int)(n >> bit & 1u));
    sum.before += core_device_count_bits(votes & t->earlier) << bit;
    sum.all += core_device_count_bits(votes) << bit;
  }
  return sum;
}

/* Packs the waves of all worlds into passes of at most 32 (contacts or joints), a world's waves into passes one
 * after the other: a pass takes the next wave of each world for which there is room, first of those worlds that have
 * further ones, since they would need further passes. sizes, sharing: of the keeper's
 * world, as in SimWaves; 0 where the lane keeps none. Writes `seat`, empties the passes of `order` from `first` on,
 * and gives their number; *shared_out: bits of the passes, from the first, with a wave that shares bodies (bit 31
 * for all from there on). */
CORE_KERNEL_FN int sim_team_pack(const SimTeam *t, int first, uint64_t sizes, unsigned sharing, uint32_t *shared_out) {
  uint16_t *seat = t->seat + t->lane * (unsigned)t->layout->waves;
  int pass = 0;
  *shared_out = 0;
  for (;; pass++) {
    const unsigned size = (unsigned)sizes & SIM_WAVE_MOST;
    const bool more = sizes >> SIM_WAVE_BITS != 0;
    const SimTeamSum first_ones = sim_team_sum(t, more ? size : 0), others = sim_team_sum(t, more ? 0 : size);
    if (first_ones.all + others.all == 0) return pass;
    const unsigned before = more ? first_ones.before : first_ones.all + others.before;
    const bool granted = size > 0 && before + size <= SIM_TEAM_LANES;
    if (sim_team_ballot(t, granted && sharing & 1u)) *shared_out |= 1u << (pass < 31 ? pass : 31);
    *sim_team_order(t, first + pass, false) = SIM_TEAM_IDLE;
    if (!granted) continue;
    *seat++ = (uint16_t)(SIM_TEAM_LANES * (unsigned)pass + before);
    sizes >>= SIM_WAVE_BITS;
    sharing >>= 1;
  }
}

/* Puts `number` where a seat of a wave is: wave `wave` of a world, `further` places on. */
CORE_KERNEL_FN void sim_team_seat(const SimTeam *t, int first, unsigned world, unsigned wave, unsigned further,
                                  unsigned number) {
  const unsigned seat = t->seat[world * (unsigned)t->layout->waves + wave] + further;
  uint16_t *const order = sim_team_order(t, first + (int)(seat / SIM_TEAM_LANES), false) - t->lane;
  order[seat % SIM_TEAM_LANES] = (uint16_t)number;
}

#endif
