/* Pages for man(1), made of what --help says: program(1), and program-command(1) for each command that the overview
 * lists. */
#ifndef CORE_MANUAL_H
#define CORE_MANUAL_H
#include "core/command/options.h"

/* Writes them into `folder`, which is made where it is missing. CORE_FAIL names the file that can not be written. */
int core_manual_write(const CoreProgram *program, const char *folder);

#endif
