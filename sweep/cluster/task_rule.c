/* Decides, and reads and submits what was decided (task_internal.h). */
#include "sweep/cluster/task_internal.h"

#include <math.h>
#include <unistd.h>

#include "core/log.h"
#include "core/terminal.h"
#include "sweep/cluster/launch.h"
#include "sweep/stop/decide.h"

enum {
  DECISION_PAUSE = 20, /* minimum pause between decisions, in multiples of the time that one takes */
  SUBMIT_TRIES = 30,
  SUBMIT_RETRY_S = 2
};

static void read_decisions(SweepTaskRule *rule) {
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
  *rule = (SweepTaskRule){.root = root, .name = name, .decided_at_s = core_clock_s()};
  rule->is_active = sweep_stop_read_rule(root, name, &rule->interval_s) != SWEEP_STOP_NONE;
  if (rule->is_active) read_decisions(rule);
}

void sweep_task_rule_close(SweepTaskRule *rule) { sweep_stop_log_free(&rule->log); }

/* Retries, since another task may be submitting, or a promoted run's own task may be about to end, and the calling task
 * may be the last one that can submit. */
void sweep_task_rule_submit_promoted(const SweepTaskRule *rule) {
  SweepPromoteResult result = {0};
  int code = CORE_OK;
  if (!rule->is_active) return;
  for (int i = 0; i < SUBMIT_TRIES; i++) {
    if (i > 0) sleep(SUBMIT_RETRY_S);
    code = sweep_promote(rule->root, rule->name, &result);
    if (code == CORE_OK && result.waiting == 0) break;
  }
  if (code != CORE_OK)
    core_warn("promoted runs were not submitted: %s; sweep collect %s submits them", core_error_message(), rule->name);
  core_error_clear();
}

/* Lets the rule decide. Returns false if another process is deciding. */
static bool decide(SweepTaskRule *rule, bool now) {
  SweepStopOutcome outcome = {.is_busy = true};
  const double start_s = core_clock_s();
  if (sweep_stop_poll(rule->root, rule->name, now, &outcome) != CORE_OK)
    core_warn("the [stop] rule could not decide: %s", core_error_message());
  rule->decided_at_s = core_clock_s();
  rule->decision_s = rule->decided_at_s - start_s;
  return !outcome.is_busy;
}

void sweep_task_rule_poll(SweepTaskRule *rule) {
  SweepPromoteResult result;
  if (!rule->is_active) return;
  const double pause_s = fmax(rule->interval_s, DECISION_PAUSE * rule->decision_s);
  const bool is_due = core_clock_s() - rule->decided_at_s > pause_s;
  if (is_due && decide(rule, false) && sweep_promote(rule->root, rule->name, &result) != CORE_OK)
    core_error_clear(); /* the next poll, or the last task, retries */
  read_decisions(rule);
}

void sweep_task_rule_decide_now(SweepTaskRule *rule) {
  if (!rule->is_active) return;
  (void)decide(rule, true);
  read_decisions(rule);
}

bool sweep_task_rule_stops(const SweepTaskRule *rule, const char *run) {
  return rule->is_active && sweep_stop_log_is_stopped(&rule->log, run);
}
