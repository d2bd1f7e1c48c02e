/* Entry points of sweep's subcommands; main.c has the table. Each parses its own options (argv[0] is the command's
 * name), prints its own output, and returns a CORE_ code with core_error's message set. */
#ifndef SWEEP_COMMANDS_H
#define SWEEP_COMMANDS_H
#include "core/command/completion.h"

int sweep_plan(int argc, char **argv);      /* shows what a file would run and what is done; writes nothing */
int sweep_submit(int argc, char **argv);    /* records the manifest and starts the missing runs */
int sweep_status(int argc, char **argv);    /* shows progress, ETA, and failures with their reasons */
int sweep_task(int argc, char **argv);      /* executes a Slurm array task */
int sweep_supervise(int argc, char **argv); /* executes an attempt of a run of a user's program */
int sweep_hold(int argc, char **argv);      /* keeps waiting runs from starting, or lets them start */
int sweep_rm(int argc, char **argv);        /* removes sweeps or runs from the workspace */
int sweep_annotate(int argc, char **argv);    /* sets tags, a note and the pinned run */
int sweep_stop(int argc, char **argv);      /* ends runs after a checkpoint, and empties the queue */
int sweep_logs(int argc, char **argv);      /* prints a run's log; --follow continues */
int sweep_collect(int argc, char **argv);   /* imports new run-log lines into results.db; --follow continues */
int sweep_serve(int argc, char **argv);     /* serves a live page of the workspace */
int sweep_bundle(int argc, char **argv);    /* packs sweeps into one file */
int sweep_unbundle(int argc, char **argv);  /* unpacks and verifies such a file */
int sweep_doctor(int argc, char **argv);    /* checks this machine and its cluster */

extern const CoreCompletion sweep_completions[]; /* shell completion: control/complete.c */

#endif
