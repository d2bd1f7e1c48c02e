/* What this build is: version, commit, its date and libraries, as the Makefile gave them. */
#ifndef CORE_VERSION_H
#define CORE_VERSION_H

/* Version, git commit and its day, compiled in ("0.2.0", "1a2b3c4", "2026-11-22"). */
const char *core_version(void);
const char *core_commit(void);
const char *core_date(void);
/* Optional libraries and devices of the build, all programs' alike: "with oneDNN, libgd; without CUDA, NCCL". */
const char *core_features(void);

#endif
