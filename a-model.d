model.o: sim/model.c core/banned.h sim/model.h sim/world.h sim/level.h \
 core/error.h core/text.h sim/real.h sim/model_build.h sim/contact.h \
 sim/move.h sim/waves.h sim/step.h sim/actuate.h sim/joint.h \
 sim/collide.h
core/banned.h:
sim/model.h:
sim/world.h:
sim/level.h:
core/error.h:
core/text.h:
sim/real.h:
sim/model_build.h:
sim/contact.h:
sim/move.h:
sim/waves.h:
sim/step.h:
sim/actuate.h:
sim/joint.h:
sim/collide.h:
