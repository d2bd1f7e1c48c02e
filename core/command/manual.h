/* Manual pages generated from --help: program(1), and program-command(1) for each command in the overview. */
#ifndef CORE_MANUAL_H
#define CORE_MANUAL_H
#include "core/command/options.h"

/* Writes the pages into `directory`, which is created if missing. CORE_FAIL: the message names the file. */
int core_manual_write(const CoreProgram *program, const char *directory);

#endif
