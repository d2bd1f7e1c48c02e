/* `trainer check-configs`: checks whether runs of configurations would start. `sweep plan` and `sweep submit` use it
 * before anything is queued, with one process for all configurations of a sweep.
 *
 *   in    "env.num=512\nppo.epochs=4\n\n"           non-default settings, followed by an empty line
 *   out   "check-configs 1\n"                       immediately
 *         "ok\t<bytes>\t<bytes here>\n"             memory that a run needs, and that this machine has
 *         "memory\t<bytes>\t<bytes here>\t<why>\n"  it needs more memory than available
 *         "bad\t<why>\n"                            any other error at the start of the run
 *
 * and at the end of the input, for environments without errors:
 *         "remark\t<line>\n"                        warning about an environment */
#ifndef TRAINER_CHECK_CONFIGS_H
#define TRAINER_CHECK_CONFIGS_H

/* The command; argv[0] is its name. Returns CORE_OK at the end of the input, regardless of the results. */
int trainer_check_configs(int argc, char **argv);

#endif
