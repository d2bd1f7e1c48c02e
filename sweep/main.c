/* The sweep program: a table of subcommands. Each one lies in its own file; see commands.h. */
#include "core/command/options.h"
#include "sweep/commands.h"

int main(int argc, char **argv) {
  static const char intro[] =
      "Runs PPO experiments over grids of settings: an experiment file (docs/experiments.md) becomes runs, the runs' "
      "logs become results.db, and `analyze` draws it.\n\n"
      "  sweep plan experiments/fig8_ddr.ini --profile demo\n"
      "  sweep submit experiments/fig8_ddr.ini --profile demo\n"
      "  sweep status";
  static const CoreCommand commands[] = {
    {"plan", "what a file would run, what of it is done, how long the rest takes", sweep_plan},
    {"submit", "record the runs and start what is missing", sweep_submit},
    {"status", "progress, time left, failures with their reason", sweep_status},
    {"cancel", "Slurm: take runs out of the queue, or end them with a checkpoint", sweep_cancel},
    {"hold", "Slurm: keep waiting runs from starting", sweep_hold},
    {"release", "Slurm: let held runs start", sweep_release},
    {"retry", "Slurm: submit failed and lost runs again, with more memory or time", sweep_retry},
    {"extend", "more seeds for a sweep", sweep_extend},
    {"rm", "remove sweeps or runs, with all their files", sweep_rm},
    {"archive", "remove a sweep's checkpoints, keep its results", sweep_archive},
    {"tag", "give a sweep or a run tags, to find it by", sweep_tag},
    {"note", "write a note on a sweep or a run", sweep_note},
    {"pin", "pin a run as its sweep's best", sweep_pin},
    {"stop", "on this machine: ask runs to save a checkpoint and end", sweep_stop},
    {"logs", "what a run said", sweep_logs},
    {"collect", "import new results into results.db", sweep_collect},
    {"serve", "a live page of the workspace for a browser", sweep_serve},
    {"report", "what a sweep has cost: waiting, hours, what was wasted, which limits are enough", sweep_report},
    {"bundle", "sweeps as one file for others: results, settings, checksums", sweep_bundle},
    {"unbundle", "unpack such a file and check it", sweep_unbundle},
    {"doctor", "what this machine and its cluster lack for sweeps, and what to change", sweep_doctor},
    {"task", "what Slurm's array tasks execute; not for people", sweep_task},
    {"supervise", "what starts the command of a [program] and records its metrics; not for people", sweep_supervise},
    {"rebuild", "make results.db anew from the run logs", sweep_rebuild},
    {0}};
  static const CoreProgram program = {
    .name = "sweep", .intro = intro, .commands = commands, .completions = sweep_completions};
  return core_options_dispatch(&program, argc, argv);
}
