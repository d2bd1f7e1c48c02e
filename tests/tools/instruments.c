/* Developers' instruments (tests/instruments): what a run costs on a GPU, how it should scale over GPUs, and the
 * morphologies of the locomotion task with the search for them. Usage: instruments COMMAND --help */
#include "core/command/options.h"
#include "tests/instruments/cost.h"
#include "tests/instruments/morphologies.h"
#include "tests/instruments/scaling.h"

static const CoreCommand COMMANDS[] = {
  {"cost", "count the device memory and launches of an iteration, by phase and kernel", instrument_cost},
  {"scaling", "predict how a run scales over GPUs", instrument_scaling},
  {"morphologies", "list the levels of the locomotion task, or search for them", instrument_morphologies},
  {0},
};

int main(int argc, char **argv) {
  static const CoreProgram program = {.name = "instruments", .intro = "Measures and predicts for developers.",
                                      .commands = COMMANDS};
  return core_options_dispatch(&program, argc, argv);
}
