/* Commands of `trainer` that train nothing. argv[0] is the name of the command; each prints help on --help, and
 * returns a CORE_ code. */
#ifndef TRAINER_TOOLS_TOOLS_H
#define TRAINER_TOOLS_TOOLS_H

int trainer_show(int argc, char **argv);        /* draws levels: a sheet, in their initial state or after some steps */
int trainer_play(int argc, char **argv);        /* records an episode of a trained policy */
int trainer_config(int argc, char **argv);      /* all settings with their defaults */
int trainer_info(int argc, char **argv);        /* build and machine */
int trainer_tasks(int argc, char **argv);       /* values of env.task, with sizes */
int trainer_checkpoint(int argc, char **argv);  /* validates checkpoint files and lists their sections */
int trainer_check_level(int argc, char **argv); /* validates level files; CORE_USAGE: one is invalid */
int trainer_plasticity(int argc, char **argv);  /* the speed at which trained and fresh networks fit random
                                                 * targets (trainer/measure/plasticity.h) */

/* Checks whether runs of configurations would start. `sweep plan` and `sweep submit` use it before anything is queued,
 * with one process for all configurations of a sweep.
 *
 *   in    "env.num=512\nppo.epochs=4\n\n"           non-default settings, followed by an empty line
 *   out   "check-configs 1\n"                       immediately
 *         "ok\t<bytes>\t<bytes here>\n"             memory that a run needs, and that this machine has
 *         "memory\t<bytes>\t<bytes here>\t<why>\n"  it needs more memory than available
 *         "bad\t<why>\n"                            any other error at the start of the run
 *
 * and at the end of the input, for environments without errors:
 *         "remark\t<line>\n"                        warning about an environment
 *
 * Returns CORE_OK at the end of the input, regardless of the results. */
int trainer_check_configs(int argc, char **argv);

#endif
