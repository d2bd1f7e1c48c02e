/* `sweep doctor`: is this a place where sweeps can run, and if not, what to change. */
#include <stdlib.h>
#include <string.h>

#include "core/http.h"
#include "core/json.h"
#include "core/terminal.h"
#include "slurm/site.h"
#include "sweep/commands.h"
#include "sweep/doctor/checkup.h"
#include "sweep/local/notify.h"
#include "sweep/spec/sweep.h"

typedef struct DoctorOptions {
  SweepCommon common;
  bool json, job, notify;
  int64_t wait;
  const char *on_node;
} DoctorOptions;

static void check_notify(SweepCheckup *checkup, const DoctorOptions *options, const SlurmSite *site) {
  CoreText ways = {0};
  sweep_notify_append_channels(site, &ways);
  const bool lacks_curl = *site->notify_url && !core_http_is_built();
  if (ways.length)
    sweep_checkup_add(checkup, "notify", lacks_curl ? SWEEP_BAD : SWEEP_GOOD, lacks_curl ? "build with libcurl" : NULL,
                      "%s, on %s", ways.data, site->notify_on);
  if (!options->notify) { /* no message was asked for */
  } else if (!ways.length) {
    sweep_checkup_add(checkup, "test message", SWEEP_BAD,
                      "write url = https://..., command = PROGRAM or mail = ADDRESS under [notify] in the site file",
                      "nobody is to be told");
  } else if (sweep_notify_send(site, &(SweepNotification){.sweep = "test", .event = "test",
                                                          .message = ""}) == CORE_OK) {
    sweep_checkup_add(checkup, "test message", SWEEP_GOOD, NULL, "%s took it", ways.data);
  } else {
    sweep_checkup_add(checkup, "test message", SWEEP_BAD, "correct it under [notify] in the site file", "%s",
                      core_error_message());
  }
  core_text_free(&ways);
}

static void check_site(SweepCheckup *checkup, const DoctorOptions *options, SlurmSettings *settings) {
  SlurmSite site;
  *settings = slurm_settings_default();
  int code = slurm_site_apply(settings, &site);
  for (size_t i = 0; code == CORE_OK && i < options->common.sets.count; i++) {
    const char *pair = options->common.sets.items[i], *equals = strchr(pair, '=');
    char key[128];
    snprintf(key, sizeof key, "%.*s", equals ? (int)(equals - pair) : 0, pair);
    code = equals ? slurm_settings_set(settings, key, equals + 1)
                  : core_error(CORE_USAGE, "--set %s: expected slurm.KEY=VALUE", pair);
  }
  CoreText known = {0};
  slurm_site_list(&known);
  if (code != CORE_OK)
    sweep_checkup_add(checkup, "site", SWEEP_BAD, "correct it: nothing can be submitted as it stands", "%s",
                      core_error_message());
  else if (*site.path)
    sweep_checkup_add(checkup, "site", SWEEP_GOOD, NULL, "%s%s%s", site.path, *site.base ? ", begins with " : "",
                      site.base);
  else
    sweep_checkup_add(checkup, "site", SWEEP_NOTE,
                      "write ~/.config/sweep/site.ini for the partition and account that all your sweeps use",
                      "no site file; there are %s to begin with", core_text_string(&known));
  core_text_free(&known);
  if (code == CORE_OK) check_notify(checkup, options, &site);
}

static void print_text(const SweepCheckup *checkup) {
  static const char *const marks[] = {"ok", "--", "!", "BAD"};
  static const CoreColor colors[] = {CORE_GREEN, CORE_DIM, CORE_YELLOW, CORE_RED};
  for (size_t i = 0; i < checkup->count; i++) {
    const SweepFinding *f = &checkup->findings[i];
    printf("%s%-4s%s%-23s", core_terminal_color(stdout, colors[f->grade]), marks[f->grade], core_terminal_reset(stdout),
           f->name);
    core_terminal_print_wrapped(stdout, f->text, 28, 27);
    if (!*f->advice) continue;
    printf("%*s->", 28, "");
    core_terminal_print_wrapped(stdout, f->advice, 31, 30);
  }
}

static void print_json(const SweepCheckup *checkup) {
  json_t *list = json_array();
  for (size_t i = 0; i < checkup->count; i++) {
    const SweepFinding *f = &checkup->findings[i];
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "check", f->name, "grade", sweep_grade_name(f->grade),
                                          "text", f->text, "advice", f->advice));
  }
  json_t *all = json_pack("{s:s, s:o}", "worst", sweep_grade_name(checkup->worst), "checks", list);
  core_json_print(all);
}

static int doctor(void *given, const char **operands, size_t count) {
  DoctorOptions *options = given;
  SweepCheckup checkup = {0};
  SlurmSettings settings;
  if (options->on_node) return sweep_checkup_run_on_node(options->on_node);
  if (options->wait < 1 || options->wait > 86400)
    return core_error(CORE_USAGE, "--wait %lld: 1 to 86400 seconds", (long long)options->wait);
  TRY(sweep_common_open(&options->common));
  sweep_checkup_workspace(&checkup, options->common.root);
  sweep_checkup_trainer(&checkup);
  check_site(&checkup, options, &settings);
  sweep_checkup_slurm(&checkup, options->common.root, &settings, options->job ? (int)options->wait : 0);
  if (options->json) print_json(&checkup);
  else print_text(&checkup);
  size_t bad = 0;
  for (size_t i = 0; i < checkup.count; i++) bad += checkup.findings[i].grade == SWEEP_BAD;
  sweep_checkup_free(&checkup);
  return bad == 0 ? CORE_OK : core_error(CORE_FAIL, "%zu of the checks found what keeps sweeps from running here", bad);
}

int sweep_doctor(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep doctor [options]",
    .about = "Looks from this machine at what sweeps need: workspace (space, file locks, clock, the kind of "
             "filesystem), trainer, site file, Slurm (version, limits, partitions, MPI). Says what to change. Exit "
             "code 1 when something keeps sweeps from running."};
  DoctorOptions given = {.wait = 120};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(given.common),
    {"set", 's', CORE_OPTION_LIST, &given.common.sets, "slurm.KEY=VALUE", "a [slurm] setting, over the site's"},
    {"job", 0, CORE_OPTION_FLAG, &given.job, NULL,
     "also submit a job of one minute and let it look at its node: workspace, locks, clock, trainer, CUDA"},
    {"notify", 0, CORE_OPTION_FLAG, &given.notify, NULL, "also send a test message as [notify] of the site file says"},
    {"wait", 0, CORE_OPTION_INT, &given.wait, "SECONDS", "how long to wait for that job (default 120)"},
    {"json", 0, CORE_OPTION_FLAG, &given.json, NULL, "for scripts"},
    {"on-node", 0, CORE_OPTION_TEXT, &given.on_node, "FILE", "what that job executes; not for people"},
    {0}};
  return core_options_answer(&manual, options, argc, argv, doctor, &given);
}
