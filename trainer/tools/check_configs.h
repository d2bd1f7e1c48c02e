/* `trainer check-configs`: would runs of these configurations start? What `sweep plan` and `sweep submit` ask before
 * anything is queued; one process for all of a sweep's configurations.
 *
 *   in    "env.num=512\nppo.epochs=4\n\n"           settings that differ from their defaults, then an empty line
 *   out   "check-configs 1\n"                       at once
 *         "ok\t<bytes>\t<bytes here>\n"             memory that a run takes, and that this machine has
 *         "memory\t<bytes>\t<bytes here>\t<why>\n"  it takes more than there is
 *         "bad\t<why>\n"                            anything else that the run would end with at its start
 *
 * and at the end of the input, of environments that are in order so far:
 *         "remark\t<line>\n"                        what may be wrong with one */
#ifndef TRAINER_CHECK_CONFIGS_H
#define TRAINER_CHECK_CONFIGS_H

/* The command; argv[0] is its name. CORE_OK at the end of the input, whatever the answers were. */
int trainer_check_configs(int argc, char **argv);

#endif
