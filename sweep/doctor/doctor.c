/* `sweep doctor`: checks whether sweeps can run on this machine and its cluster, and prints what to change. */
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

/* Sends a test message. channels: their description; empty: none. */
static void send_test(SweepCheckup *checkup, const SlurmSite *site, const CoreText *channels) {
  const SweepNotification test = {.sweep = "test", .event = "test", .message = ""};
  if (!channels->length)
    sweep_checkup_add(checkup, "test message", SWEEP_BAD,
                      "write url = https://..., command = PROGRAM or mail = ADDRESS under [notify] in the site file",
                      "no channel is set");
  else if (sweep_notify_send(site, &test) == CORE_OK)
    sweep_checkup_add(checkup, "test message", SWEEP_GOOD, NULL, "sent: %s", channels->data);
  else
    sweep_checkup_add(checkup, "test message", SWEEP_BAD, "correct it under [notify] in the site file", "%s",
                      core_error_message());
}

static void check_notify(SweepCheckup *checkup, const DoctorOptions *options, const SlurmSite *site) {
  CoreText channels = {0};
  sweep_notify_append_channels(site, &channels);
  const bool lacks_curl = *site->notify_url && !core_http_is_built();
  if (channels.length)
    sweep_checkup_add(checkup, "notify", lacks_curl ? SWEEP_BAD : SWEEP_GOOD, lacks_curl ? "build with libcurl" : NULL,
                      "%s, on %s", channels.data, site->notify_on);
  if (options->notify) send_test(checkup, site, &channels);
  core_text_free(&channels);
}

static void check_site(SweepCheckup *checkup, const DoctorOptions *options, SlurmSettings *settings) {
  SlurmSite site;
  *settings = slurm_settings_default();
  int code = slurm_site_apply(settings, &site);

  for (size_t i = 0; i < options->common.sets.count; i++) {
    if (code != CORE_OK) break;
    const char *pair = options->common.sets.items[i], *equals = strchr(pair, '=');
    char key[128];
    snprintf(key, sizeof key, "%.*s", equals ? (int)(equals - pair) : 0, pair);
    code = equals ? slurm_settings_set(settings, key, equals + 1)
                  : core_error(CORE_USAGE, "--set %s: expected slurm.KEY=VALUE", pair);
  }

  CoreText known = {0};
  slurm_site_list(&known);
  if (code != CORE_OK)
    sweep_checkup_add(checkup, "site", SWEEP_BAD, "correct it: nothing can be submitted until then", "%s",
                      core_error_message());
  else if (*site.path)
    sweep_checkup_add(checkup, "site", SWEEP_GOOD, NULL, "%s%s%s", site.path, *site.base ? ", based on " : "",
                      site.base);
  else
    sweep_checkup_add(checkup, "site", SWEEP_NOTE,
                      "write ~/.config/sweep/site.ini for the partition and account that all your sweeps use",
                      "no site file; predefined ones: %s", core_text_string(&known));

  core_text_free(&known);
  if (code == CORE_OK) check_notify(checkup, options, &site);
}

static void print_text(const SweepCheckup *checkup) {
  static const char *const labels[] = {"ok", "--", "!", "BAD"};
  static const CoreColor colors[] = {CORE_GREEN, CORE_DIM, CORE_YELLOW, CORE_RED};
  for (size_t i = 0; i < checkup->count; i++) {
    const SweepFinding *finding = &checkup->findings[i];
    printf("%s%-4s%s%-23s", core_terminal_color(stdout, colors[finding->grade]), labels[finding->grade],
           core_terminal_reset(stdout), finding->name);
    core_terminal_print_wrapped(stdout, finding->text, 28, 27);
    if (!*finding->advice) continue;
    printf("%*s->", 28, "");
    core_terminal_print_wrapped(stdout, finding->advice, 31, 30);
  }
}

static void print_json(const SweepCheckup *checkup) {
  json_t *list = json_array();
  for (size_t i = 0; i < checkup->count; i++) {
    const SweepFinding *f = &checkup->findings[i];
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "check", f->name, "grade", sweep_grade_name(f->grade),
                                          "text", f->text, "advice", f->advice));
  }
  json_t *report = json_pack("{s:s, s:o}", "worst", sweep_grade_name(checkup->worst), "checks", list);
  core_json_print(report);
}

static int doctor(void *context, const char **operands, size_t count) {
  DoctorOptions *options = context;
  SweepCheckup checkup = {0};
  SlurmSettings settings;

  if (options->on_node) return sweep_checkup_run_on_node(options->on_node);
  if (options->wait < 1 || options->wait > 86400)
    return core_error(CORE_USAGE, "--wait %lld: must be 1 to 86400 seconds", (long long)options->wait);
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
  if (bad == 0) return CORE_OK;
  return core_error(CORE_FAIL, "%zu checks found problems that prevent sweeps from running here", bad);
}

int sweep_doctor(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep doctor [options]",
    .about = "Checks the requirements of sweeps from this machine: workspace (space, file locks, clock, kind of file "
             "system), trainer, site file, Slurm (version, limits, partitions, MPI). Prints what to change. Exit code "
             "1 if a problem prevents sweeps from running."};

  DoctorOptions parsed = {.wait = 120};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"set", 's', CORE_OPTION_LIST, &parsed.common.sets, "slurm.KEY=VALUE", "override a [slurm] setting of the site"},
    {"job", 0, CORE_OPTION_FLAG, &parsed.job, NULL,
     "also submit a job of one minute that checks its node: workspace, locks, clock, trainer, CUDA"},
    {"notify", 0, CORE_OPTION_FLAG, &parsed.notify, NULL, "also send a test message through [notify] of the site file"},
    {"wait", 0, CORE_OPTION_INT, &parsed.wait, "SECONDS", "time limit for that job to answer (default: 120)"},
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print JSON"},
    {"on-node", 0, CORE_OPTION_TEXT, &parsed.on_node, "FILE", "internal: run by that job"},
    {0}};
  return core_options_run(&manual, options, argc, argv, doctor, &parsed);
}
