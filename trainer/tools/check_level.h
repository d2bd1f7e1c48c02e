/* `trainer check-level`: can these level files be simulated? */
#ifndef TRAINER_CHECK_LEVEL_H
#define TRAINER_CHECK_LEVEL_H

/* The command; argv[0] is its name. CORE_USAGE when a file is wrong. */
int trainer_check_level(int argc, char **argv);

#endif
