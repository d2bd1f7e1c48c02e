/* Commands that print information: build, settings, tasks, contents of checkpoints. */
#ifndef TRAINER_DESCRIBE_H
#define TRAINER_DESCRIBE_H

int trainer_config(int argc, char **argv);      /* all settings with their defaults */
int trainer_info(int argc, char **argv);        /* build and machine */
int trainer_tasks(int argc, char **argv);       /* values of env.task, with sizes */
int trainer_checkpoint(int argc, char **argv);  /* validates checkpoint files and lists their sections */

#endif
