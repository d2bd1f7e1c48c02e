/* The four kinds of entities as encoders of entities see them (encoder.h): where each is in an observation row. For who
 * writes these encoders down in another form (trainer/export). */
#ifndef TRAINER_ENCODER_ENTITIES_H
#define TRAINER_ENCODER_ENTITIES_H
#include "sim/task/observe_layout.h"

/* The kinds in their order in an entity matrix. */
enum { ENCODER_POLYGONS, ENCODER_CIRCLES, ENCODER_JOINTS, ENCODER_THRUSTERS, ENCODER_ENTITY_KINDS };
typedef struct EncoderEntities {
  const char *name;
  int features, count;       /* features of one; how many in a row */
  int offset, mask;          /* in an observation row */
} EncoderEntities;
EncoderEntities encoder_entities(const SimEntityLayout *layout, int kind);
int encoder_entity_count(const SimEntityLayout *layout);

/* Of net.encoder = set and stoix_set (encoder_set.c): numbers of an entity that its layer makes, of which the last four
 * say the kind; and which of these is 1 (the reference counts circles first). */
enum { ENCODER_SET_ENTITY = 64, ENCODER_SET_EMBEDDED = ENCODER_SET_ENTITY - ENCODER_ENTITY_KINDS };
static inline int encoder_set_tag(int kind) {
  static const int place[ENCODER_ENTITY_KINDS] = {
      [ENCODER_CIRCLES] = 0, [ENCODER_POLYGONS] = 1, [ENCODER_JOINTS] = 2, [ENCODER_THRUSTERS] = 3};
  return ENCODER_SET_EMBEDDED + place[kind];
}

#endif
