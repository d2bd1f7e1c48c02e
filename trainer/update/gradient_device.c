/* Adding gradients on devices (gradient_device.h). With several ranks the all-reduce overlaps the backward passes: the
 * networks' vectors are divided into buckets of neighboring layers, in the order in which backward passes complete
 * them, and a bucket is passed to the communicator as soon as it is complete. The order is fixed beforehand, so that
 * ranks whose micro-batches differ, or that have no row of a minibatch, make the same calls. */
#include "trainer/update/gradient_device.h"

#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_ranks.h"
#include "trainer/ranks/communicator.h"

enum { THREADS = 256, BLOCKS_MAX = 1 << 20, SLICE = 1 << 20 };

size_t gradient_device_slice(void) { return SLICE; }

static void blend(CoreDevice *device, float *x, float keep, const float *more, float share, size_t n) {
  const OpsBlend arguments = {x, more, n, keep, share};
  device->launch(device, &ops_blend_launch, core_device_blocks(n, THREADS, BLOCKS_MAX), THREADS, 0, &arguments);
}

void gradient_device_add(CoreDevice *device, float *mean, const float *more, size_t n, int before, int rows) {
  const float keep = (float)before / (float)(before + rows), share = (float)rows / (float)(before + rows);
  blend(device, mean, keep, more, share, n);
}

/* ---- buckets ----------------------------------------------------------------------------------------------------- */

/* Adds buckets for layers top-1 .. bottom of a network, downwards; the highest includes what follows the layers in the
 * vector. */
static void add_buckets(GradientSending *sending, const AgentNetwork *network, bool is_actor, int top, int bottom,
                        size_t min_bytes) {
  size_t end = top == network->shape.layers ? network->n : network_kernel(&network->shape, top);
  for (int layer = top - 1; layer >= bottom; layer--) {
    const size_t first = network_kernel(&network->shape, layer);
    if (layer > bottom && (end - first) * sizeof(float) < min_bytes) continue;
    CORE_CHECK(sending->buckets < GRADIENT_BUCKETS_MAX);
    sending->bucket[sending->buckets++] = (GradientBucket){is_actor, first, end - first};
    end = first;
  }
}

/* In the order in which agent_backward completes them: the actor's tower, the critic's, the trunk. */
void gradient_device_plan(const Agent *agent, size_t min_bytes, GradientSending *sending) {
  sending->buckets = 0;
  add_buckets(sending, &agent->actor, true, agent->actor.shape.layers, agent->trunk, min_bytes);
  if (agent->critic.n > 0) add_buckets(sending, &agent->critic, false, agent->critic.shape.layers, 0, min_bytes);
  if (agent->trunk > 0) add_buckets(sending, &agent->actor, true, agent->trunk, 0, min_bytes);
}

/* Weights this rank's part of the mean over all rows, in `mean`: of the current micro-batch if it is the last and still
 * there, and of those before it. */
static void weigh(Gradient *gradient, const GradientBucket *bucket) {
  const GradientSending *sending = &gradient->sending;
  float *mean = (bucket->is_actor ? gradient->mean.actor : gradient->mean.critic) + bucket->first;
  const float *before = (bucket->is_actor ? gradient->actor : gradient->critic) + bucket->first;
  const double rows = (double)sending->global_rows;
  if (gradient->captured.rows) {
    CoreDevice *device = gradient->agent->device;
    const OpsWeigh arguments = {mean, bucket->n, gradient->captured.rows, rows};
    const unsigned blocks = core_device_blocks(bucket->n, THREADS, BLOCKS_MAX);
    device->launch(device, &ops_weigh_launch, blocks, THREADS, 0, &arguments);
    return;
  }
  const float now = sending->last ? (float)((double)sending->rows / rows) : 0;
  blend(gradient->agent->device, mean, now, before, (float)((double)gradient->rows[0] / rows), bucket->n);
}

/* Sends complete buckets, in order. */
static void send_complete(Gradient *gradient) {
  GradientSending *sending = &gradient->sending;
  Communicator *communicator = gradient->agent->communicator;
  for (; sending->sent < sending->buckets; sending->sent++) {
    const GradientBucket *bucket = &sending->bucket[sending->sent];
    if (bucket->first < (bucket->is_actor ? sending->actor_from : sending->critic_from)) return;
    weigh(gradient, bucket);
    communicator->sum(communicator, (bucket->is_actor ? gradient->mean.actor : gradient->mean.critic) + bucket->first,
                      bucket->n, COMMUNICATOR_FLOAT);
  }
}

/* Callback of agent_backward: the network's gradient is complete from parameter `first` on. */
static void on_complete(void *context, bool is_actor, size_t first) {
  Gradient *gradient = context;
  size_t *from = is_actor ? &gradient->sending.actor_from : &gradient->sending.critic_from;
  if (first < *from) *from = first;
  send_complete(gradient);
}

void gradient_device_begin(Gradient *gradient) {
  GradientSending *sending = &gradient->sending;
  if (gradient->agent->communicator == NULL || gradient->shards.ordered) return;
  if (sending->buckets == 0)
    gradient_device_plan(gradient->agent, gradient->agent->communicator->bucket_bytes, sending);
  sending->sent = 0;
  sending->last = false;
  sending->actor_from = sending->critic_from = SIZE_MAX;
  gradient->mean.on_complete = NULL;
}

void gradient_device_expect_last(Gradient *gradient, int rows, int64_t global_rows) {
  GradientSending *sending = &gradient->sending;
  if (gradient->agent->communicator == NULL || gradient->shards.ordered) return;
  sending->last = true;
  sending->rows = rows;
  sending->global_rows = global_rows;
  gradient->mean.on_complete = on_complete;
  gradient->mean.context = gradient;
}

void gradient_device_sum_ranks(Gradient *gradient, int64_t global_rows) {
  Communicator *communicator = gradient->agent->communicator;
  gradient->sending.global_rows = global_rows;
  gradient->sending.actor_from = gradient->sending.critic_from = 0;
  send_complete(gradient);
  communicator->finish(communicator);
}

/* ---- comm.deterministic ------------------------------------------------------------------------------------------ */

void gradient_device_fold(Gradient *gradient, const float *local, size_t n, const double *shares, float *mean) {
  const size_t own_shards = (size_t)gradient->shards.shards, global_shards = (size_t)gradient->shards.global_shards;
  CoreDevice *device = gradient->agent->device;
  Communicator *communicator = gradient->agent->communicator;
  const GradientCaptured *captured = &gradient->captured;
  float *gathered = gradient->gather, *packed = gathered + global_shards * SLICE;

  if (shares) core_device_to_device(device, gradient->shares, shares, global_shards * sizeof *shares);
  for (size_t first = 0; first < n; first += SLICE) {
    const size_t count = n - first < SLICE ? n - first : SLICE;
    for (size_t s = 0; s < own_shards; s++)
      core_device_copy(device, packed + s * count, local + s * n + first, count * sizeof *packed);
    if (communicator) communicator->gather(communicator, packed, own_shards * count * sizeof *packed, gathered);

    const OpsFoldShards fold = {
      .of = communicator ? gathered : packed, .shares = shares ? gradient->shares : captured->shares,
      .step = shares ? NULL : captured->step, .parts = core_divisor((size_t)captured->parts),
      .shards = (int)global_shards, .n = count, .mean = mean + first};
    device->launch(device, &ops_fold_shards_launch, core_device_blocks(count, THREADS, BLOCKS_MAX), THREADS, 0, &fold);
  }
}
