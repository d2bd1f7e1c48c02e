/* Version, commit, date and libraries of this build, from the Makefile. */
#ifndef CORE_VERSION_H
#define CORE_VERSION_H

/* Return version, git commit and its date ("0.2.0", "1a2b3c4", "2026-11-22"). */
const char *core_version(void);
const char *core_commit(void);
const char *core_date(void);
/* Returns the optional libraries of the build: "with oneDNN, libgd; without CUDA, NCCL". */
const char *core_features(void);

#endif
