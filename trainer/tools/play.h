/* `trainer play`: records an episode of a trained policy. */
#ifndef TRAINER_PLAY_H
#define TRAINER_PLAY_H

/* The command; argv[0] is its name. Returns a CORE_ code. */
int trainer_play(int argc, char **argv);

#endif
