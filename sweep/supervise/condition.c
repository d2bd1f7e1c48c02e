/* Names and derives conditions (condition.h). */
#include "sweep/supervise/condition.h"

static const char *const names[SWEEP_CONDITIONS] = {
  "not submitted", "queued",          "held",    "suspended",     "starting",  "running",
  "finished",      "stopped by rule", "stopped", "lost",          "orphaned",  "cancelled",
  "failed",        "diverged",        "out of memory", "time limit", "node failure"};

const char *sweep_condition_name(SweepCondition condition) {
  CORE_CHECK((unsigned)condition < SWEEP_CONDITIONS);
  return names[condition];
}

bool sweep_condition_needs_attention(SweepCondition condition) { return condition >= SWEEP_STOPPED; }

SweepCondition sweep_condition_before_start(const SweepRunEvidence *evidence) {
  if (evidence->is_queued) return SWEEP_QUEUED;
  if (evidence->status == STORE_RUNNING) return SWEEP_RUNNING;
  if (evidence->status == STORE_FINISHED && !evidence->is_forced) return SWEEP_FINISHED;
  if (evidence->status == STORE_DIVERGED && !evidence->is_forced) return SWEEP_DIVERGED;
  if (evidence->status == STORE_FAILED && evidence->keep_failed) return SWEEP_FAILED;
  return evidence->is_stopped_by_rule ? SWEEP_STOPPED_BY_RULE : SWEEP_NOT_SUBMITTED;
}
