/* Trust in slurm.setup (setup.h). */
#include "sweep/cluster/setup.h"

#include <string.h>

#include "slurm/site.h"
#include "store/code/trust.h"

/* Whether the user's site file has the same lines. */
static bool is_of_site(const char *setup) {
  SlurmSettings settings = slurm_settings_default();
  SlurmSite site;
  if (slurm_site_apply(&settings, &site) == CORE_OK) return strcmp(settings.setup, setup) == 0;
  core_error_clear();
  return false;
}

int sweep_setup_check(const SlurmSettings *sets, size_t count, bool grant) {
  for (size_t i = 0; i < count; i++)
    if (*sets[i].setup && !is_of_site(sets[i].setup))
      TRY(store_trust_check_shell("slurm.setup", sets[i].setup, grant));
  return CORE_OK;
}
