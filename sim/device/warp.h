/* A warp of a GPU that steps several worlds at once: its memory, and how its lanes divide the work.
 *
 * A world has little parallel work (two or three contacts, a joint), so that a warp per world would mostly idle.
 * Instead the 32 lanes of a warp share the work of all its worlds: lists of pairs, contacts and joints run over all of
 * them. Serial work of a world (its schedule, its result) is done by its *owner*, the lane of the world's number in the
 * warp. All lanes meet at the same barriers, of the warp only (__syncwarp).
 *
 * In a step, contacts and joints are applied in *passes*: in each, every lane applies at most one. Before a step's
 * iterations a schedule says which (wavefronts.h). What does not fit into shared memory is spilled to device memory.
 * warp_collide.h and warp_step.h are the step itself. */
#ifndef SIM_WARP_H
#define SIM_WARP_H
#include "core/device/device_kernel.h"
#include "sim/physics/wavefronts.h"
#include "sim/task/task.h"

enum {
  SIM_WARP_LANES = 32,
  SIM_WARP_RESIDENT = 16,   /* maximum warps of a multiprocessor, limited by registers */
  SIM_WARP_RESERVED = 1024, /* bytes of shared memory that CUDA reserves per block */
  SIM_WARP_PASSES = 8,      /* passes of joints and contacts in shared memory; the schedule of further ones is
                             * spilled */
  SIM_WARP_PAD = 0,        /* index of the padding contact and joint, for lanes that have none: of a dummy body with
                            * itself */
};

/* Flags of contacts and joints: which of their bodies can move, and SimPair.clears_impulse. */
enum { SIM_WARP_A_MOVES = 1, SIM_WARP_B_MOVES = 2, SIM_WARP_CLEARS_IMPULSE = 4 };

/* Records that lanes read in units of 16 bytes. Their size is an odd number of units, so that eight neighboring lanes
 * read from different banks of shared memory. */
#if defined(__cplusplus)
#define SIM_WARP_ALIGN alignas(16)
#else
#define SIM_WARP_ALIGN _Alignas(16)
#endif

/* Contact during a step. */
typedef struct SimWarpContact {
  SIM_WARP_ALIGN SimVec normal;
  SimVec point;
  SimMass a_mass, b_mass;
  real penetration, restitution_target, friction;
  uint16_t a, b;         /* byte offsets of its bodies in SimWarp.body */
  SimVec impulse;
  uint8_t sum_order;     /* as in SimWavefrontContact */
  uint8_t flags, slot;   /* slot: as in SimPair */
  uint8_t world;         /* index of its world in the warp */
  uint8_t ordinal;       /* index among that world's contacts, in the model's order */
  uint8_t kind, round, rank; /* round: 0 or 1, first or second of its pair; rank: of the pair (sim_wavefronts_group) */
  uint8_t ends[2];       /* SimWavefrontContact.a and b */
} SimWarpContact;

/* Joint during a step: the data of SimJointModel and SimJointStep that sim_joint_resolve reads. */
typedef struct SimWarpJoint {
  SIM_WARP_ALIGN real a_share;
  real b_share, inverse_sum_mass, inverse_sum_inertia;
  SimMass a_mass, b_mass;
  SimVec a_arm, b_arm;
  SimVec impulse;
  real angular_impulse, angular_bias;
  uint16_t a, b;         /* as in SimWarpContact */
  uint8_t flags, fixed, has_angular_constraint;
  real spin;             /* angular impulse of the motor */
} SimWarpJoint;

/* World of the warp, for all lanes. */
typedef struct SimWarpWorld {
  const SimModel *model;  /* device memory */
  SimWorld *state;        /* device memory */
  SimCommand command;
  uint16_t hit, contact;  /* offsets of its parts of SimWarp.hit and SimWarp.scheduled */
  uint8_t touched, contact_count; /* so far: overlapping pairs of the current kind, contacts */
  uint8_t batch_first[SIM_PAIR_KINDS], spare[7]; /* SimSolverBatches.first of each kind */
} SimWarpWorld;

/* Layout of a warp's shared memory, in bytes from its beginning; the same for all warps of a launch. Memory is reused:
 * joints replace the boxes; starts and scheduled replace overlap_bits and hit. */
typedef struct SimWarpLayout {
  int worlds;                        /* worlds per warp */
  int shapes, joints, wavefronts;    /* maximum per world */
  int capacity, overflow;            /* contacts in shared memory; maximum of further ones, spilled */
  int passes;                        /* maximum */
  int hits;                          /* maximum of a warp, per kind and 32 pairs */
  int pair_words, warm_words;        /* words of SimWorld.overlap_pairs and .warm, for this size */
  uint32_t bodies, boxes;            /* strides from world to world: an odd number of 16 bytes */
  uint32_t world, box, contact, overlap_bits, hit, starts, scheduled, schedule; /* offsets; bodies are at 0 */
  uint32_t bytes;                    /* bytes of shared memory */
  uint32_t spill_scheduled, spill_schedule; /* offsets in the spill; contacts are at 0 */
  uint32_t spill_bytes;              /* bytes of device memory */
} SimWarpLayout;

/* A lane's view of its warp. */
typedef struct SimWarp {
  const CoreDeviceThread *at;
  const SimWarpLayout *layout;
  unsigned lane, count;         /* count: current worlds, at most layout->worlds */
  unsigned mine, part, parts;   /* division of work by worlds: every parts-th item of world `mine`, from part on */
  uint32_t earlier;             /* mask of the lanes before this one */
  SimWarpWorld *world;          /* shared memory, [worlds] */
  char *body;                   /* SimBody [worlds][shapes] (sim_warp_bodies), and the dummy body */
  char *box;                    /* SimBox [worlds][shapes] (sim_warp_boxes), until all pairs are tested; then */
  SimWarpJoint *joint;          /* [1 + worlds * joints], the padding one first */
  SimWarpContact *contact;      /* [1 + capacity], the padding one first */
  SimWavefrontContact *scheduled; /* [contacts]: world by world, in the model's order */
  uint32_t *overlap_bits;       /* [lanes]: bits of pairs whose boxes overlap */
  uint16_t *hit;                /* [hits]: pairs of a kind whose boxes overlap, world by world: 256 * world + pair */
  uint16_t *starts;             /* [worlds][wavefronts]: start of a wavefront: 32 * pass + its first lane */
  uint16_t *schedule;           /* [passes][lanes]: contact or joint of each lane: passes of joints, then those of
                                 * contacts */
  char *spill;                  /* device memory: overflow of the above */
  int joint_passes;
} SimWarp;

SIM_FN uint32_t sim_warp_reserve(uint32_t *end, size_t bytes, uint32_t alignment) {
  const uint32_t start = (*end + alignment - 1) / alignment * alignment;
  *end = start + (uint32_t)bytes;
  return start;
}

SIM_FN size_t sim_warp_larger(size_t a, size_t b) { return a > b ? a : b; }

/* Returns a layout with the maximum numbers that follow from the size, and no memory yet. */
SIM_FN SimWarpLayout sim_warp_count(SimSize size, int worlds) {
  SimWarpLayout l;
  int pairs = 0, pairs_of_kind = 0, groups = 0;

  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) {
    const int n = sim_model_pairs(size, kind);
    pairs += n;
    pairs_of_kind = n > pairs_of_kind ? n : pairs_of_kind;
    groups += (int)sim_step_solver_batches(n, 0).count * (kind == SIM_RR ? 2 : 1);
  }

  memset(&l, 0, sizeof l);
  l.worlds = worlds;
  l.shapes = size.polygons + size.circles;
  l.joints = size.joints;
  l.wavefronts = groups > size.joints ? groups : size.joints;
  l.passes = worlds * (l.wavefronts + l.joints); /* a pass has a wavefront of at least one world */
  l.hits = worlds * (pairs_of_kind < 32 ? pairs_of_kind : 32);
  l.pair_words = (pairs + 31) / 32;
  l.warm_words = (sim_model_contacts(size) + 63) / 64;

  l.bodies = (uint32_t)((size_t)l.shapes * sizeof(SimBody) + 16);
  l.boxes = (uint32_t)((size_t)(l.shapes | 1) * sizeof(SimBox));
  return l;
}

/* Returns the number of contacts that fit into `rest` bytes of shared memory, at least `worlds` and at most `contacts`.
 * They share these bytes first with the lists of overlapping pairs, then with the schedule: the starts of wavefronts,
 * and an entry of `scheduled` for each contact. */
SIM_FN int sim_warp_contact_capacity(int worlds, int contacts, size_t rest, size_t lists_bytes, size_t starts_bytes) {
  const size_t contact_bytes = sizeof(SimWarpContact), scheduled_bytes = contact_bytes + sizeof(SimWavefrontContact);
  const int beside_lists = (int)(rest > lists_bytes ? (rest - lists_bytes) / contact_bytes : 0);
  const int beside_schedule = (int)(rest > starts_bytes ? (rest - starts_bytes) / scheduled_bytes : 0);
  int capacity = beside_lists < beside_schedule ? beside_lists : beside_schedule;
  if (capacity < worlds) capacity = worlds;
  return capacity < contacts ? capacity : contacts;
}

/* Lays out the spill in device memory: contacts, their scheduled entries and the schedule. contacts: maximum of all
 * worlds. */
SIM_FN void sim_warp_lay_out_spill(SimWarpLayout *l, int contacts) {
  const int scheduled = l->overflow > 0 ? contacts : 0;
  l->spill_bytes = 0;
  sim_warp_reserve(&l->spill_bytes, (size_t)l->overflow * sizeof(SimWarpContact), 16);
  l->spill_scheduled = sim_warp_reserve(&l->spill_bytes, (size_t)scheduled * sizeof(SimWavefrontContact), 16);
  l->spill_schedule = sim_warp_reserve(&l->spill_bytes, (size_t)l->passes * SIM_WARP_LANES * sizeof(uint16_t), 16);
}

/* Computes the layout for `worlds` worlds of a size (a power of two up to SIM_WARP_LANES). Contacts get the rest of
 * `budget` bytes of shared memory: at least one per world. */
SIM_FN SimWarpLayout sim_warp_layout(SimSize size, int worlds, size_t budget) {
  SimWarpLayout l = sim_warp_count(size, worlds);
  const size_t n = (size_t)worlds;
  const int contacts = worlds * sim_model_contacts(size);
  const size_t boxes_bytes = n * l.boxes, joints_bytes = (1 + n * (size_t)l.joints) * sizeof(SimWarpJoint);
  const size_t overlap_bytes = SIM_WARP_LANES * sizeof(uint32_t), hits_bytes = (size_t)l.hits * sizeof(uint16_t);
  const size_t lists_bytes = sim_warp_larger(overlap_bytes, hits_bytes);
  const size_t starts_bytes = (size_t)(worlds * l.wavefronts) * sizeof(uint16_t);

  uint32_t end = 0;
  sim_warp_reserve(&end, n * l.bodies + sizeof(SimBody), 16);
  l.box = sim_warp_reserve(&end, sim_warp_larger(boxes_bytes, joints_bytes), 16);
  l.world = sim_warp_reserve(&end, n * sizeof(SimWarpWorld), 16);
  l.schedule = sim_warp_reserve(&end, SIM_WARP_PASSES * SIM_WARP_LANES * sizeof(uint16_t), 4);

  l.contact = sim_warp_reserve(&end, sizeof(SimWarpContact), 16); /* the padding contact; the others follow it */
  l.capacity = sim_warp_contact_capacity(worlds, contacts, budget > end ? budget - end : 0, lists_bytes, starts_bytes);
  l.overflow = contacts - l.capacity;
  sim_warp_reserve(&end, (size_t)l.capacity * sizeof(SimWarpContact), 16);

  /* The lists of the broad phase and the schedule of the solver are needed at different times. */
  uint32_t schedule_end = end;
  l.overlap_bits = l.hit = end; /* lists and schedule share the bytes from here on */
  l.starts = sim_warp_reserve(&schedule_end, starts_bytes, 16);
  l.scheduled = sim_warp_reserve(&schedule_end, (size_t)l.capacity * sizeof(SimWavefrontContact), 4);
  sim_warp_reserve(&end, sim_warp_larger(schedule_end - end, lists_bytes), 16);

  l.bytes = (end + 15) / 16 * 16;
  sim_warp_lay_out_spill(&l, contacts);
  return l;
}

/* Returns the layout with which most warps fit a multiprocessor of `shared` bytes: at most SIM_WARP_RESIDENT, and with
 * capacity for as many contacts as worlds usually have (measured: docs/cuda-measurements.md). */
SIM_FN SimWarpLayout sim_warp_fit(SimSize size, int worlds, size_t shared) {
  const int wanted = worlds * (size.joints > 4 ? 9 : 5) / 2;
  for (size_t warps = SIM_WARP_RESIDENT; warps > 1; warps--) {
    const SimWarpLayout layout = sim_warp_layout(size, worlds, shared / warps - SIM_WARP_RESERVED);
    if (layout.capacity >= wanted && (layout.bytes + SIM_WARP_RESERVED) * warps <= shared) return layout;
  }
  return sim_warp_layout(size, worlds, shared - SIM_WARP_RESERVED);
}

/* Returns a lane's view of its warp; a block is one warp. spill: of the launch, [blocks][layout->spill_bytes]. */
SIM_FN SimWarp sim_warp_of(const CoreDeviceThread *at, const SimWarpLayout *layout, char *spill) {
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
  t.scheduled = (SimWavefrontContact *)(share + layout->scheduled);
  t.overlap_bits = (uint32_t *)(share + layout->overlap_bits);
  t.hit = (uint16_t *)(share + layout->hit);
  t.starts = (uint16_t *)(share + layout->starts);
  t.schedule = (uint16_t *)(share + layout->schedule);
  t.spill = spill + (size_t)at->block * layout->spill_bytes;
  t.joint_passes = 0;
  return t;
}

CORE_KERNEL_FN void sim_warp_barrier(const SimWarp *t) { core_device_group_barrier(t->at, SIM_WARP_LANES); }
CORE_KERNEL_FN uint32_t sim_warp_ballot(const SimWarp *t, int vote) {
  return core_device_ballot(t->at, SIM_WARP_LANES, vote);
}

/* Whether this lane owns a world, and whether it has a share of work that is divided by worlds. */
SIM_FN bool sim_warp_owns(const SimWarp *t) { return t->lane < t->count; }
SIM_FN bool sim_warp_works(const SimWarp *t) { return t->mine < t->count; }
SIM_FN SimBody *sim_warp_bodies(const SimWarp *t, unsigned world) {
  return (SimBody *)__builtin_assume_aligned(t->body + world * t->layout->bodies, 16);
}
SIM_FN SimBox *sim_warp_boxes(const SimWarp *t, unsigned world) {
  return (SimBox *)__builtin_assume_aligned(t->box + world * t->layout->boxes, 16);
}

/* Returns the bits below n <= 32. */
SIM_FN uint32_t sim_warp_below(unsigned n) { return n >= 32 ? 0xffffffffu : (1u << n) - 1; }

/* Returns contact number i, from 1 on. in_shared: all contacts are in shared memory (a hint for the compiler). */
SIM_FN SimWarpContact *sim_warp_contact(const SimWarp *t, unsigned i, bool in_shared) {
  const unsigned capacity = (unsigned)t->layout->capacity;
  return in_shared || i <= capacity ? &t->contact[i] : (SimWarpContact *)t->spill + (i - capacity - 1);
}

/* Returns the memory in which `contacts` contacts are scheduled: shared memory, or the spill. */
SIM_FN SimWavefrontContact *sim_warp_scheduled(const SimWarp *t, int contacts) {
  return contacts <= t->layout->capacity ? t->scheduled :
    (SimWavefrontContact *)(t->spill + t->layout->spill_scheduled);
}

/* Returns this lane's entry of a pass: the index of a contact or joint. in_shared: all passes are in shared memory. */
SIM_FN uint16_t *sim_warp_entry(const SimWarp *t, int pass, bool in_shared) {
  uint16_t *spill_schedule = (uint16_t *)(t->spill + t->layout->spill_schedule) - SIM_WARP_PASSES * SIM_WARP_LANES;
  return (in_shared || pass < SIM_WARP_PASSES ? t->schedule : spill_schedule) + pass * SIM_WARP_LANES + (int)t->lane;
}

/* Returns the body at an offset. The known alignment lets the compiler use wide loads. */
SIM_FN SimBody *sim_warp_body(const SimWarp *t, unsigned at) {
  return (SimBody *)__builtin_assume_aligned(t->body + at, 16);
}
SIM_FN uint16_t sim_warp_body_offset(const SimWarp *t, unsigned world, unsigned shape) {
  return (uint16_t)(world * t->layout->bodies + shape * (unsigned)sizeof(SimBody));
}

/* Set the padding joint, and the padding contact with the dummy body. */
CORE_KERNEL_FN void sim_warp_pad_joint(const SimWarp *t) {
  SimWarpJoint idle;
  memset(&idle, 0, sizeof idle);
  idle.a = idle.b = sim_warp_body_offset(t, (unsigned)t->layout->worlds, 0);
  t->joint[SIM_WARP_PAD] = idle;
}
CORE_KERNEL_FN void sim_warp_pad_contact(const SimWarp *t) {
  SimWarpContact idle;
  memset(&idle, 0, sizeof idle);
  idle.a = idle.b = sim_warp_body_offset(t, (unsigned)t->layout->worlds, 0);
  idle.sum_order = SIM_WAVEFRONT_ALONE;
  t->contact[SIM_WARP_PAD] = idle;
  memset(sim_warp_body(t, idle.a), 0, sizeof(SimBody));
}

/* Prefix sum over the lanes before this one, and sum over all lanes. Takes two ballots per bit of the largest value. */
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

/* Packs the wavefronts of all worlds into passes of at most 32 contacts or joints. A pass takes the next wavefront of
 * each world that fits. Worlds with further wavefronts come first, since they need further passes. sizes,
 * sharing: of the owner's world (SimWavefronts); 0 where the lane owns none. Writes `starts`, empties the passes of
 * `schedule` from `first` on, and returns their number. *shared_out: bits of the passes, from `first` on, with a
 * wavefront that shares bodies (bit 31 for all from there on). */
CORE_KERNEL_FN int sim_warp_pack(const SimWarp *t, int first, uint64_t sizes, unsigned sharing, uint32_t *shared_out) {
  uint16_t *start = t->starts + t->lane * (unsigned)t->layout->wavefronts;
  int pass = 0;
  *shared_out = 0;

  for (;; pass++) {
    const unsigned size = (unsigned)sizes & SIM_WAVEFRONT_MAX;
    const bool more = sizes >> SIM_WAVEFRONT_BITS != 0;
    const SimWarpSum first_ones = sim_warp_sum(t, more ? size : 0), others = sim_warp_sum(t, more ? 0 : size);
    if (first_ones.all + others.all == 0) return pass;

    const unsigned before = more ? first_ones.before : first_ones.all + others.before;
    const bool granted = size > 0 && before + size <= SIM_WARP_LANES;
    if (sim_warp_ballot(t, granted && sharing & 1u)) *shared_out |= 1u << (pass < 31 ? pass : 31);
    *sim_warp_entry(t, first + pass, false) = SIM_WARP_PAD;
    if (!granted) continue;
    *start++ = (uint16_t)(SIM_WARP_LANES * (unsigned)pass + before);
    sizes >>= SIM_WAVEFRONT_BITS;
    sharing >>= 1;
  }
}

/* Schedules contact or joint `number` as item `further` of a wavefront of a world. */
CORE_KERNEL_FN void sim_warp_assign(const SimWarp *t, int first, unsigned world, unsigned wavefront, unsigned further,
                                    unsigned number) {
  const unsigned at = t->starts[world * (unsigned)t->layout->wavefronts + wavefront] + further;
  uint16_t *const schedule = sim_warp_entry(t, first + (int)(at / SIM_WARP_LANES), false) - t->lane;
  schedule[at % SIM_WARP_LANES] = (uint16_t)number;
}

#endif
