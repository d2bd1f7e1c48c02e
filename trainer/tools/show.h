/* `trainer show`: draws levels, one or a sheet of them, in their initial state or after some steps. */
#ifndef TRAINER_SHOW_H
#define TRAINER_SHOW_H

/* The command; argv[0] is its name. Returns a CORE_ code. */
int trainer_show(int argc, char **argv);

#endif
