/* `trainer plasticity`: how fast trained networks fit random targets, against fresh ones (trainer/measure/
 * plasticity.h). */
#ifndef TRAINER_TOOLS_PLASTICITY_H
#define TRAINER_TOOLS_PLASTICITY_H

/* The command; argv[0] is its name. */
int trainer_plasticity(int argc, char **argv);

#endif
