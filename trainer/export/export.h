/* The command that writes a policy for other programs. */
#ifndef TRAINER_EXPORT_H
#define TRAINER_EXPORT_H

int trainer_export(int argc, char **argv);

#endif
