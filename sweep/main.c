/* The sweep program: its table of subcommands (commands.h). */
#include "core/command/options.h"
#include "sweep/commands.h"

int main(int argc, char **argv) {
  static const char intro[] =
    "Runs PPO experiments over grids of settings. An experiment file (docs/experiments.md) defines the runs, their "
    "logs are imported into results.db, and `analyze` plots it.\n\n"
    "  sweep plan experiments/fig8_ddr.ini --profile demo\n"
    "  sweep submit experiments/fig8_ddr.ini --profile demo\n"
    "  sweep status";

  static const CoreCommand commands[] = {
    {"plan", "show what a file would run, what is done, and how long the rest takes", sweep_plan},
    {"submit", "record the runs and start the missing, failed or added ones", sweep_submit},
    {"status", "show progress, remaining time, failures with their reasons, and cost", sweep_status},
    {"stop", "end runs after they save a checkpoint, and take waiting ones out of the queue", sweep_stop},
    {"hold", "keep waiting runs from starting, or let them start", sweep_hold},
    {"rm", "remove sweeps or runs with all their files, or only checkpoints", sweep_rm},
    {"annotate", "tag, note and pin sweeps and runs", sweep_annotate},
    {"logs", "show a run's log", sweep_logs},
    {"collect", "import new results into results.db, or rebuild it", sweep_collect},
    {"serve", "serve a live page of the workspace for a browser", sweep_serve},
    {"bundle", "pack sweeps into one file: results, settings, checksums", sweep_bundle},
    {"unbundle", "unpack and verify such a file", sweep_unbundle},
    {"doctor", "check this machine and its cluster for problems with sweeps", sweep_doctor},
    /* Internal: the entry point of Slurm array tasks, and the parent of a [program]. */
    {"task", NULL, sweep_task},
    {"supervise", NULL, sweep_supervise},
    {0}};

  static const CoreProgram program = {
    .name = "sweep", .intro = intro, .commands = commands, .completions = sweep_completions};
  return core_options_dispatch(&program, argc, argv);
}
