/* `trainer show`: pictures of levels, alone or many on a sheet, at their start or after some steps. */
#ifndef TRAINER_SHOW_H
#define TRAINER_SHOW_H

/* The command; argv[0] is its name. Returns a CORE_ code. */
int trainer_show(int argc, char **argv);

#endif
