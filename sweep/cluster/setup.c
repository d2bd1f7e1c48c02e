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

static int check_one(const char *root, const char *setup, bool grant) {
  if (!*setup || is_of_site(setup)) return CORE_OK;
  return store_trust_check_shell("slurm.setup", setup, root, grant);
}

int sweep_setup_check(const char *root, const SlurmSettings *settings, const SweepResources *resources, bool grant) {
  TRY(check_one(root, settings->setup, grant));
  for (size_t i = 0; resources && i < resources->count; i++)
    TRY(check_one(root, resources->sets[i].setup, grant));
  return CORE_OK;
}
