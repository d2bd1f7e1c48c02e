kernels.o: sim/kernels.c core/banned.h sim/kernels.h core/device.h \
 core/device_kernel.h sim/kernels.def sim/batch_kernels.h \
 sim/batch_world.h core/random.h sim/batch.h sim/observe_layout.h \
 sim/level.h core/error.h core/text.h sim/real.h sim/observe.h \
 sim/model.h sim/world.h sim/task.h sim/step.h sim/actuate.h sim/joint.h \
 sim/collide.h sim/contact.h sim/move.h sim/step_team.h sim/waves.h \
 sim/level_kernels.h sim/filter_time.h sim/filter.h \
 sim/generate_internal.h sim/generate_joint.h sim/generate_shape.h \
 sim/level_build.h sim/level_stream.h sim/generate_draw.h \
 sim/model_build.h sim/level_ready.h sim/observe_template.h \
 sim/observe_entity.h sim/observe_kernels.h core/device_table.inc
core/banned.h:
sim/kernels.h:
core/device.h:
core/device_kernel.h:
sim/kernels.def:
sim/batch_kernels.h:
sim/batch_world.h:
core/random.h:
sim/batch.h:
sim/observe_layout.h:
sim/level.h:
core/error.h:
core/text.h:
sim/real.h:
sim/observe.h:
sim/model.h:
sim/world.h:
sim/task.h:
sim/step.h:
sim/actuate.h:
sim/joint.h:
sim/collide.h:
sim/contact.h:
sim/move.h:
sim/step_team.h:
sim/waves.h:
sim/level_kernels.h:
sim/filter_time.h:
sim/filter.h:
sim/generate_internal.h:
sim/generate_joint.h:
sim/generate_shape.h:
sim/level_build.h:
sim/level_stream.h:
sim/generate_draw.h:
sim/model_build.h:
sim/level_ready.h:
sim/observe_template.h:
sim/observe_entity.h:
sim/observe_kernels.h:
core/device_table.inc:
