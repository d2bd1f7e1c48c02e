/* Looks and what follows from them (task_rule.h). */
#include "sweep/cluster/task_rule.h"

#include <math.h>
#include <unistd.h>

#include "core/log.h"
#include "core/terminal.h"
#include "sweep/cluster/promote.h"
#include "sweep/stop/decide.h"

enum { REST = 20 /* looks take no more than this part of the time */, TRIES = 30, TRY_S = 2 };

static void read_news(SweepTaskRule *rule) {
  const int64_t size = sweep_stop_log_size(rule->root, rule->name);
  SweepStopLog log;
  if (size == rule->log_size) return;
  if (sweep_stop_log_read(rule->root, rule->name, &log) != CORE_OK) {
    core_warn("%s", core_error_message());
    return;
  }
  sweep_stop_log_free(&rule->log);
  rule->log = log;
  rule->log_size = size;
}

void sweep_task_rule_open(const char *root, const char *name, SweepTaskRule *rule) {
  *rule = (SweepTaskRule){.root = root, .name = name, .looked_at_s = core_clock_s()};
  rule->is_active = sweep_stop_of(root, name, &rule->every_s) != SWEEP_STOP_NONE;
  if (rule->is_active) read_news(rule);
}

void sweep_task_rule_close(SweepTaskRule *rule) { sweep_stop_log_free(&rule->log); }

/* Another task may be submitting, or a promoted run's own task be about to end: so again, for one that is the last to
 * know. */
void sweep_task_rule_submit_promoted(const SweepTaskRule *rule) {
  SweepPromoteResult promoted = {0};
  int code = CORE_OK;
  if (!rule->is_active) return;
  for (int i = 0; i == 0 || (i < TRIES && (code != CORE_OK || promoted.waiting > 0)); i++) {
    if (i > 0) sleep(TRY_S);
    code = sweep_promote(rule->root, rule->name, &promoted);
  }
  if (code != CORE_OK)
    core_warn("promoted runs could not be submitted from here: %s; sweep collect %s does it", core_error_message(),
              rule->name);
  core_error_clear();
}

static bool decide(SweepTaskRule *rule, bool now) {
  SweepStopOutcome outcome = {.is_busy = true};
  const double began_s = core_clock_s();
  if (sweep_stop_look(rule->root, rule->name, now, &outcome) != CORE_OK)
    core_warn("the rule of [stop] could not decide: %s", core_error_message());
  rule->looked_at_s = core_clock_s();
  rule->took_s = rule->looked_at_s - began_s;
  return !outcome.is_busy;
}

void sweep_task_rule_poll(SweepTaskRule *rule) {
  SweepPromoteResult promoted;
  if (!rule->is_active) return;
  const bool is_due = core_clock_s() - rule->looked_at_s > fmax(rule->every_s, REST * rule->took_s);
  if (is_due && decide(rule, false) && sweep_promote(rule->root, rule->name, &promoted) != CORE_OK)
    core_error_clear(); /* the next look, or who ends last, tries again */
  read_news(rule);
}

void sweep_task_rule_decide_now(SweepTaskRule *rule) {
  if (!rule->is_active) return;
  (void)decide(rule, true);
  read_news(rule);
}

bool sweep_task_rule_stops(const SweepTaskRule *rule, const char *run) {
  return rule->is_active && sweep_stop_log_stops(&rule->log, run);
}
