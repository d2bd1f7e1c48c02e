/* The entry points of the sweep program's subcommands; main.c has the table. Each parses its own options (argv[0] is
 * the command's name), prints its own output, and returns a CORE_ code with core_error's message set. */
#ifndef SWEEP_COMMANDS_H
#define SWEEP_COMMANDS_H
#include "core/command/completion.h"

int sweep_plan(int argc, char **argv);    /* what a file would run, and what of it is done; writes nothing */
int sweep_submit(int argc, char **argv);  /* records the manifest and starts what is missing */
int sweep_status(int argc, char **argv);  /* progress, ETA, failures with their reason */
int sweep_task(int argc, char **argv);    /* what Slurm's array tasks execute */
int sweep_supervise(int argc, char **argv); /* one attempt of a run of a user's program */
int sweep_cancel(int argc, char **argv);  /* runs out of Slurm's queue */
int sweep_hold(int argc, char **argv);
int sweep_release(int argc, char **argv);
int sweep_retry(int argc, char **argv);   /* failed and lost runs to Slurm again, with more memory or time */
int sweep_extend(int argc, char **argv);  /* more seeds */
int sweep_rm(int argc, char **argv);      /* sweeps or runs out of the workspace */
int sweep_archive(int argc, char **argv); /* checkpoints gone, results kept */
int sweep_tag(int argc, char **argv);     /* what people say of sweeps and runs: annotate.c */
int sweep_note(int argc, char **argv);
int sweep_pin(int argc, char **argv);
int sweep_stop(int argc, char **argv);    /* asks runs to checkpoint and end */
int sweep_logs(int argc, char **argv);    /* a run's own messages; -f follows them */
int sweep_collect(int argc, char **argv); /* imports new run-log lines into results.db; --follow keeps doing it */
int sweep_serve(int argc, char **argv);   /* a live page of the workspace for a browser */
int sweep_report(int argc, char **argv);  /* what a sweep has cost, and what would have been enough */
int sweep_bundle(int argc, char **argv);  /* sweeps as one file for others: results, settings, checksums */
int sweep_unbundle(int argc, char **argv);
int sweep_doctor(int argc, char **argv);  /* is this a place where sweeps can run? */
int sweep_rebuild(int argc, char **argv); /* results.db anew from the run folders alone */

extern const CoreCompletion sweep_completions[]; /* what Tab offers: complete.c */

#endif
