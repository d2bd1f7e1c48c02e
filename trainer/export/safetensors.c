/* Tensors by name and offset (export.h). */
#include "trainer/export/export.h"

#include <stdio.h>

#include "core/json.h"

enum { LENGTH_BYTES = 8, ALIGNMENT = 8, NAME = 96 };

/* Header and data under construction. */
typedef struct Tensors {
  json_t *header, *metadata;
  CoreText *bytes;
} Tensors;

static void add_tensor(Tensors *to, const char *name, const char *type, const int64_t *dims, int rank, const void *data,
                       size_t element_size) {
  json_t *shape = json_array();
  size_t bytes = element_size;
  for (int i = 0; i < rank; i++) {
    json_array_append_new(shape, json_integer(dims[i]));
    bytes *= (size_t)dims[i];
  }
  const size_t begin = to->bytes->length;
  core_text_append_bytes(to->bytes, data, bytes);
  json_object_set_new(to->header, name,
                      json_pack("{s:s, s:o, s:[I, I]}", "dtype", type, "shape", shape, "data_offsets",
                                (json_int_t)begin, (json_int_t)to->bytes->length));
}

static void add_floats(Tensors *to, const char *network, const char *name, int index, const int64_t *dims, int rank,
                       const float *data) {
  char full_name[NAME];
  if (index >= 0) snprintf(full_name, sizeof full_name, "%s.%s%d", network, name, index);
  else snprintf(full_name, sizeof full_name, "%s.%s", network, name);
  add_tensor(to, full_name, "F32", dims, rank, data, sizeof *data);
}

static void add_layers(Tensors *to, const AgentNetwork *network) {
  const NetworkShape *shape = &network->shape;
  for (int l = 0; l < shape->layers; l++) {
    const int64_t dims[] = {shape->width[l], shape->width[l + 1]}, *width = dims + 1;
    add_floats(to, network->name, "W", l, dims, 2, network->theta + network_kernel(shape, l));
    add_floats(to, network->name, "b", l, width, 1, network->theta + network_bias(shape, l));
    if (!network_has_norm(shape, l)) continue;
    add_floats(to, network->name, "gain", l, width, 1, network->theta + network_norm_gain(shape, l));
    add_floats(to, network->name, "offset", l, width, 1, network->theta + network_norm_offset(shape, l));
  }
}

static void add_lstm(Tensors *to, const RecurrentShape *shape, const AgentNetwork *network) {
  const int64_t gates = 4 * shape->width, in[] = {shape->in, gates}, h[] = {shape->width, gates}, *width = h;
  const struct { const char *name; size_t first; const int64_t *dims; int rank; } part[] = {
    {"lstm Wx", shape->wx, in, 2},       {"lstm bx", shape->bx, in + 1, 1}, {"lstm Wh", shape->wh, h, 2},
    {"lstm bh", shape->bh, in + 1, 1}, {"lstm gain", shape->gain, width, 1}, {"lstm offset", shape->offset, width, 1}};
  for (size_t p = 0; p < sizeof part / sizeof *part; p++)
    add_floats(to, network->name, part[p].name, -1, part[p].dims, part[p].rank,
               network->theta + network->recurrent + part[p].first);
}

/* Adds the parameters after the layers: log standard deviations, embeddings, encoder, LSTM. */
static void add_other_parts(Tensors *to, const Agent *agent, const AgentNetwork *network) {
  const EncoderShape *encoder = &agent->encoder.shape;
  const int64_t blocks = agent->blocks.count;

  if (network->embedding > network->log_sigma) {
    const int64_t dims[] = {blocks, agent->head.factors};
    add_floats(to, network->name, "log_sigma", -1, blocks > 0 ? dims : dims + 1, blocks > 0 ? 2 : 1,
               network->theta + network->log_sigma);
  }
  if (network->encoder > network->embedding)
    add_floats(to, network->name, "embedding", -1, (int64_t[]){blocks, agent->blocks.width}, 2,
               network->theta + network->embedding);

  const int tensors = network->recurrent > network->encoder ? encoder->tensors : 0;
  for (int i = 0; i < tensors; i++) {
    const EncoderTensor *t = &encoder->tensor[i];
    const OpsConv *c = &t->conv;
    const int64_t conv[] = {c->size[0], c->size[1], c->in, c->out}, matrix[] = {t->rows, t->columns};
    const bool is_conv = c->out > 0, is_vector = !is_conv && t->rows == 1;
    add_floats(to, network->name, t->name, -1, is_conv ? conv : matrix + is_vector, is_conv ? 4 : 2 - is_vector,
               network->theta + network->encoder + t->offset);
  }
  if (network->n > network->recurrent) add_lstm(to, &agent->recurrent.shape, network);
}

static void add_observation(Tensors *to, const ObsPipeline *pipeline) {
  const Normalizer *normalizer = &pipeline->normalizer;
  const int64_t features = pipeline->shown;
  if (!pipeline->has_moments || normalizer->rule == NORMALIZE_NONE) return;
  add_tensor(to, "observation.mean", "F64", &features, 1, normalizer->moments + 1, sizeof(double));
  add_tensor(to, "observation.factor", "F64", &features, 1, normalizer->factor, sizeof(double));
}

static void add_metadata(void *context, const char *key, const char *value) {
  const Tensors *to = context;
  json_object_set_new(to->metadata, key, core_json_text(value));
}

void safetensors_policy(const Player *player, CoreText *file) {
  const Agent *agent = &player->agent;
  CoreText bytes = {0}, header = {0};
  Tensors tensors = {json_object(), json_object(), &bytes};

  json_object_set(tensors.header, "__metadata__", tensors.metadata);
  policy_metadata(player, add_metadata, &tensors);
  add_observation(&tensors, &player->pipeline); /* float64 first, so that all tensors are aligned */
  const AgentNetwork *networks[] = {&agent->actor, &agent->critic};
  for (int i = 0; i < 2; i++) {
    if (networks[i]->n == 0) continue;
    add_layers(&tensors, networks[i]);
    add_other_parts(&tensors, agent, networks[i]);
  }

  core_json_append(tensors.header, 0, &header);
  while (header.length % ALIGNMENT) core_text_append(&header, " ");
  unsigned char length[LENGTH_BYTES];
  for (int i = 0; i < LENGTH_BYTES; i++) length[i] = (unsigned char)((uint64_t)header.length >> 8 * i);
  core_text_append_bytes(file, length, sizeof length);
  core_text_append_bytes(file, header.data, header.length);
  core_text_append_bytes(file, bytes.data, bytes.length);

  json_decref(tensors.metadata);
  json_decref(tensors.header);
  core_text_free(&header);
  core_text_free(&bytes);
}
