/* Training on a device: which one, what can not be trained there yet, and the copies of device memory that checkpoints
 * read and write. Only training.c and inherit.c call these. */
#ifndef TRAINER_TRAINING_DEVICE_H
#define TRAINER_TRAINING_DEVICE_H
#include "trainer/run/training.h"

/* Chooses the device of train.device for this configuration, before buffers are registered. CORE_USAGE: cuda, where the
 * build, the machine or the configuration forbid it; auto then takes the CPU and leaves the reason in device_note. */
int training_device_open(Training *training);
/* Once the environment is made, before buffers are registered. Where it has no worlds on devices, cuda wraps it
 * (wrappers/hosted.h), and auto goes back to the CPU and leaves the reason in device_note. */
int training_device_check_env(Training *training);
/* All ranks, where they have devices: connects these (communicator.h), before the first gradient. */
int training_device_connect(Training *training);
/* What train.precision is called among ops. */
OpsPrecision training_device_precision(const CoreConfig *config);
/* Ops where the device is, or on the CPU. */
int training_device_create_ops(Training *training);
/* Replaces sections in device memory by copies on the host. */
void training_device_mirror(Training *training, Checkpoint *checkpoint);
void training_device_download(const Training *training);  /* before the sections are written */
void training_device_upload(const Training *training);    /* after they were read */
void training_device_close(Training *training);

#endif
