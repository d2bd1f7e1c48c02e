/* The commands that only describe: what the program was built with, its settings, what checkpoints hold. */
#ifndef TRAINER_DESCRIBE_H
#define TRAINER_DESCRIBE_H

int trainer_config(int argc, char **argv);      /* every setting with its default */
int trainer_info(int argc, char **argv);        /* the build and the machine */
int trainer_tasks(int argc, char **argv);       /* what env.task can name, with sizes */
int trainer_checkpoint(int argc, char **argv);  /* checks checkpoint files and lists what they hold */

#endif
