/* A site's ways, once for all experiments: ~/.config/sweep/site.ini, or the file or installed site that $SWEEP_SITE
 * names ("none": neither). What it says is overridden by an experiment's [slurm], that by a profile, that by --set.
 *
 *   [site]    base = gpus             begin with an installed site (share/sweep/sites/gpus.ini)
 *   [slurm]   partition = gpu ...     defaults of slurm/settings.def
 *   [notify]  url = https://...       a webhook; who is told, and when: sweep/local/notify.h
 *             style = slack           slack, ntfy or plain
 *             command = tell --loud   a program of the user's; its words are divided by blanks, no shell reads them
 *             mail = me@example.org   through the system's sendmail
 *             on = end                end (a sweep has ended), failure (some run needs a hand), both or never */
#ifndef SLURM_SITE_H
#define SLURM_SITE_H
#include "core/files.h"
#include "slurm/settings.h"

typedef struct SlurmSite {
  char path[CORE_PATH_MAX];  /* the file that was read; "" when there is none */
  char base[64];
  char notify_url[1024];     /* "": nobody is told. A secret: never printed */
  char notify_style[16], notify_on[16];
  char notify_command[1024]; /* "": none */
  char notify_mail[256];     /* an address; "": none */
} SlurmSite;

/* Is anybody to be told of anything? */
bool slurm_site_notifies(const SlurmSite *site);
/* Applies the site to `settings`. No site is no error; site->path then is "". CORE_USAGE: file:line:column, with the
 * nearest known key. `settings` is not to be used after an error. */
int slurm_site_apply(SlurmSettings *settings, SlurmSite *site);

/* The names of installed sites, joined by ", ", for messages; "" when there are none. */
void slurm_site_list(CoreText *text);

#endif
