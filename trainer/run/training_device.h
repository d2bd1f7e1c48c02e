/* Training on a device: choice of the device, what cannot be trained there yet, and the copies of device memory that
 * checkpoints read and write. Called by training.c and inherit.c only. */
#ifndef TRAINER_TRAINING_DEVICE_H
#define TRAINER_TRAINING_DEVICE_H
#include "trainer/run/training.h"

/* Chooses the device of train.device for this configuration, before buffers are registered. CORE_USAGE: cuda, where the
 * build, the machine or the configuration rule it out; auto then falls back to the CPU and stores the reason in
 * device_note. */
int training_device_open(Training *training);
/* Checks the environment once it is created, before buffers are registered. If it has no worlds on devices, cuda wraps
 * it (wrappers/host_env.h), and auto falls back to the CPU and stores the reason in device_note. */
int training_device_check_env(Training *training);
/* Connects the ranks' devices, if any (communicator.h), before the first gradient; called by all ranks. */
int training_device_connect(Training *training);
/* Returns the ops' precision for train.precision. */
OpsPrecision training_device_precision(const CoreConfig *config);
/* Creates ops on the device, or on the CPU. */
int training_device_create_ops(Training *training);
/* Replaces sections in device memory by copies on the host. */
void training_device_mirror(Training *training, Checkpoint *checkpoint);
void training_device_download(const Training *training);  /* before the sections are written */
void training_device_upload(const Training *training);    /* after they were read */
void training_device_close(Training *training);

#endif
