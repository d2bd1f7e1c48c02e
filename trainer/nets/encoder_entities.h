/* The four kinds of entities of entity encoders (encoder.h), with their position in an observation row. Also for code
 * that writes these encoders in another format (trainer/export). */
#ifndef TRAINER_ENCODER_ENTITIES_H
#define TRAINER_ENCODER_ENTITIES_H
#include "sim/task/observe_layout.h"

/* Kinds in their order in an entity matrix. */
enum { ENCODER_POLYGONS, ENCODER_CIRCLES, ENCODER_JOINTS, ENCODER_THRUSTERS, ENCODER_ENTITY_KINDS };
typedef struct EncoderEntities {
  const char *name;
  int features, count;       /* features per entity; entities per row */
  int offset, mask;          /* offsets in an observation row */
} EncoderEntities;
EncoderEntities encoder_entities(const SimEntityLayout *layout, int kind);
int encoder_entity_count(const SimEntityLayout *layout);

/* net.encoder = set and stoix_set (encoder_set.c): elements of an entity after its layer, of which the last four are a
 * one-hot encoding of its kind; and the index that is 1 (the reference counts circles first). */
enum { ENCODER_SET_ENTITY = 64, ENCODER_SET_EMBEDDED = ENCODER_SET_ENTITY - ENCODER_ENTITY_KINDS };
static inline int encoder_set_tag(int kind) {
  static const int place[ENCODER_ENTITY_KINDS] = {
      [ENCODER_CIRCLES] = 0, [ENCODER_POLYGONS] = 1, [ENCODER_JOINTS] = 2, [ENCODER_THRUSTERS] = 3};
  return ENCODER_SET_EMBEDDED + place[kind];
}

#endif
