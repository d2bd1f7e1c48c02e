/* Site defaults for all experiments: ~/.config/sweep/site.ini, or the file or installed site that $SWEEP_SITE names
 * ("none": neither). An experiment's [slurm] overrides them, a profile overrides that, and --set overrides all.
 *
 *   [site]    base = gpus             start from an installed site (share/sweep/sites/gpus.ini)
 *   [slurm]   partition = gpu ...     defaults of slurm/settings.def
 *   [notify]  url = https://...       webhook; see sweep/local/notify.h
 *             style = slack           slack, ntfy or plain
 *             command = tell --loud   program of the user, split into words at blanks; no shell
 *             mail = me@example.org   through the system's sendmail
 *             on = end                end (of a sweep), failure (first failed run), both or never */
#ifndef SLURM_SITE_H
#define SLURM_SITE_H
#include "core/files.h"
#include "slurm/settings.h"

typedef struct SlurmSite {
  char path[CORE_PATH_MAX];  /* file that was read; "": none */
  char base[64];
  char notify_url[1024];     /* webhook; "": none. Secret: never printed */
  char notify_style[16], notify_on[16];
  char notify_command[1024]; /* "": none */
  char notify_mail[256];     /* address; "": none */
} SlurmSite;

/* Whether any notification channel is enabled. */
bool slurm_site_notifies(const SlurmSite *site);
/* Applies the site file to `settings`. A missing site is not an error and leaves site->path "". CORE_USAGE: the message
 * has file:line:column and the nearest known key; do not use `settings` then. */
int slurm_site_apply(SlurmSettings *settings, SlurmSite *site);

/* Appends the names of installed sites, joined by ", "; nothing if there are none. */
void slurm_site_list(CoreText *text);

#endif
