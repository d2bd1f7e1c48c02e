/* Table of squeue's reasons for pending jobs. */
#include "slurm/reason.h"

#include <stddef.h>
#include <string.h>

typedef struct Reason { const char *word, *text, *advice; bool stuck; } Reason;

static const Reason reasons[] = {
  {"None", "waits to be scheduled", "", false},
  {"Resources", "next in line, waits for free nodes", "", false},
  {"Priority", "waits behind jobs of higher priority", "", false},
  {"BeginTime", "requeued, starts again after Slurm's delay of about two minutes", "", false},
  {"JobArrayTaskLimit", "waits for others of its sweep (slurm.max_running)", "", false},
  {"Dependency", "waits for the sweep named by slurm.after", "", false},
  {"DependencyNeverSatisfied", "its dependency can never be satisfied", "sweep cancel, and submit again", true},
  {"JobHeldUser", "held", "sweep release lets it start", true},
  {"JobHeldAdmin", "held by an administrator or by you as root", "sweep release, or ask the administrators", true},
  {"JobLaunchFailure", "could not be launched and is held", "sweep release tries again; else ask the administrators",
   true},
  {"launch_failed_requeued_held", "could not be launched and is held",
   "sweep release tries again; else ask the administrators", true},
  {"PartitionTimeLimit", "requests more time than its partition allows", "sweep cancel, lower slurm.time, submit again",
   true},
  {"PartitionNodeLimit", "requests more nodes than its partition has", "sweep cancel, lower slurm.nodes, submit again",
   true},
  {"PartitionConfig", "no node of its partition has the requested resources",
   "sweep cancel, request less in [slurm], submit again", true},
  {"PartitionDown", "its partition is down", "wait, or sweep cancel and choose another slurm.partition", true},
  {"PartitionInactive", "its partition accepts no jobs at present",
   "wait, or sweep cancel and choose another slurm.partition", true},
  {"BadConstraints", "no node has the requested resources",
   "sweep cancel, request less in [slurm], submit again", true},
  {"ReqNodeNotAvail", "requested nodes are down, drained or reserved", "wait, or sweep cancel and request others",
   false},
  {"Nodes_required_for_job_are_DOWN", "requested nodes are down, drained or reserved",
   "wait, or sweep cancel and request others", false},
  {"Nodes required for job are DOWN", "requested nodes are down, drained or reserved",
   "wait, or sweep cancel and request others", false},
  {"NodeDown", "a requested node is down", "wait, or sweep cancel and request others", false},
  {"Licenses", "waits for licenses", "", false},
  {"Reservation", "waits for its reservation to begin", "", false},
  {"InvalidAccount", "its account is unknown", "sweep cancel, correct slurm.account, submit again", true},
  {"InvalidQOS", "its QOS is unknown", "sweep cancel, correct slurm.qos, submit again", true},
  {"AccountNotAllowed", "its account may not use this partition",
   "sweep cancel, change slurm.account or slurm.partition", true},
  {"QOSNotAllowed", "its QOS may not use this partition",
   "sweep cancel, change slurm.qos or slurm.partition", true},
  {"Assoc", "waits for a limit of your account", "jobs of yours must end first", false},
  {"QOS", "waits for a limit of its QOS", "jobs of yours must end first", false},
  {"MaxJobsPerAccount", "waits for a limit of your account", "jobs of yours must end first", false},
  {"NonZeroExitCode", "ended with an error", "", false},
};
enum { REASONS = sizeof reasons / sizeof *reasons };

/* Finds the longest entry that `reason` begins with: Assoc for "AssocGrpCpuLimit". */
static const Reason *find_reason(const char *reason) {
  const Reason *best = NULL;
  for (int i = 0; i < REASONS; i++)
    if (strncmp(reason, reasons[i].word, strlen(reasons[i].word)) == 0 &&
        (!best || strlen(reasons[i].word) > strlen(best->word)))
      best = &reasons[i];
  return best;
}

const char *slurm_reason_text(const char *reason) {
  const Reason *known = find_reason(reason);
  return known ? known->text : reason;
}

const char *slurm_reason_advice(const char *reason) {
  const Reason *known = find_reason(reason);
  return known ? known->advice : "";
}

bool slurm_reason_is_held(const char *reason) { return strncmp(reason, "JobHeld", 7) == 0; }

bool slurm_reason_is_stuck(const char *reason) {
  const Reason *known = find_reason(reason);
  return known && known->stuck;
}
