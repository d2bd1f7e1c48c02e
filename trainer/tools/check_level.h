/* `trainer check-level`: validates level files. */
#ifndef TRAINER_CHECK_LEVEL_H
#define TRAINER_CHECK_LEVEL_H

/* The command; argv[0] is its name. CORE_USAGE: a file is invalid. */
int trainer_check_level(int argc, char **argv);

#endif
