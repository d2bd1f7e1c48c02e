generate.o: sim/generate.c core/banned.h sim/generate.h sim/level.h \
 core/error.h core/text.h sim/generate_draw.h sim/collide.h sim/model.h \
 sim/world.h sim/real.h sim/generate_internal.h sim/generate_joint.h \
 sim/generate_shape.h core/random.h sim/level_build.h sim/model_build.h \
 sim/contact.h sim/move.h sim/waves.h sim/step.h sim/actuate.h \
 sim/joint.h
core/banned.h:
sim/generate.h:
sim/level.h:
core/error.h:
core/text.h:
sim/generate_draw.h:
sim/collide.h:
sim/model.h:
sim/world.h:
sim/real.h:
sim/generate_internal.h:
sim/generate_joint.h:
sim/generate_shape.h:
core/random.h:
sim/level_build.h:
sim/model_build.h:
sim/contact.h:
sim/move.h:
sim/waves.h:
sim/step.h:
sim/actuate.h:
sim/joint.h:
