/* Table of squeue's reasons for pending jobs. */
#include "slurm/cluster.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>

typedef struct Reason {
  const char *pattern; /* pattern of the first letters and digits of Slurm's words, in lower case */
  const char *text, *advice;
  enum { WAITS, STUCK, HELD } kind;
} Reason;

/* The first pattern that matches decides. */
static const Reason reasons[] = {
  {"nonzeroexitcode", "ended with an error", "", WAITS},
  {"none", "waits to be scheduled", "", WAITS},
  {"resources", "next in line, waits for free nodes", "", WAITS},
  {"priority", "waits behind jobs of higher priority", "", WAITS},
  {"begintime", "requeued, starts again after Slurm's delay of about two minutes", "", WAITS},
  {"jobarraytasklimit", "waits for others of its sweep (slurm.max_running)", "", WAITS},
  {"dependencyneversatisfied", "its dependency can never be satisfied", "sweep stop, and submit again", STUCK},
  {"dependency", "waits for the sweep named by slurm.after", "", WAITS},
  {"prolog", "waits for the site's prolog on its node", "", WAITS},
  {"cleaning", "waits until its last start has been cleaned up", "", WAITS},

  {"jobhelduser", "held", "sweep hold --off lets it start", HELD},
  {"jobheldadmin", "held by an administrator or by you as root", "sweep hold --off, or ask the administrators", HELD},
  {"jobholdmaxrequeue", "was requeued too often and is held",
   "sweep hold --off tries again; else ask the administrators",
   HELD},
  {"joblaunchfailure", "could not be launched and is held", "sweep hold --off tries again; else ask the administrators",
   HELD},
  {"launchfailed", "could not be launched and is held", "sweep hold --off tries again; else ask the administrators",
   HELD},
  {"*requeuedheld", "could not be launched and is held", "sweep hold --off tries again; else ask the administrators",
   HELD},
  {"jobrequeuedinheldstate", "requeued and held", "sweep hold --off lets it start", HELD},

  {"partitiontimelimit", "requests more time than its partition allows",
   "sweep stop, lower slurm.time, submit again", STUCK},
  {"partitionnodelimit", "requests more nodes than its partition has",
   "sweep stop, lower slurm.nodes, submit again", STUCK},
  {"partitionconfig", "no node of its partition has the requested resources",
   "sweep stop, request less in [slurm], submit again", STUCK},
  {"partitiondown", "its partition is down", "wait, or sweep stop and choose another slurm.partition", STUCK},
  {"partitioninactive", "its partition accepts no jobs at present",
   "wait, or sweep stop and choose another slurm.partition", STUCK},
  {"badconstraints", "no node has the requested resources", "sweep stop, request less in [slurm], submit again",
   STUCK},
  {"reqnodenotavail", "requested nodes are down, drained or reserved", "wait, or sweep stop and request others",
   WAITS},
  {"nodesrequiredforjobaredown", "requested nodes are down, drained or reserved",
   "wait, or sweep stop and request others", WAITS},
  {"nodedown", "a requested node is down", "wait, or sweep stop and request others", WAITS},
  {"frontenddown", "a requested node is down", "wait, or sweep stop and request others", WAITS},
  {"power", "waits until nodes have power", "", WAITS},
  {"burstbuffer", "waits for the burst buffer", "", WAITS},
  {"licenses", "waits for licenses", "", WAITS},
  {"reservationdeleted", "its reservation was deleted", "sweep stop, change slurm.reservation, submit again", STUCK},
  {"reservation", "waits for its reservation to begin", "", WAITS},
  {"deadline", "cannot end before its deadline", "sweep stop, and submit again", STUCK},

  {"invalidaccount", "its account is unknown", "sweep stop, correct slurm.account, submit again", STUCK},
  {"invalidqos", "its QOS is unknown", "sweep stop, correct slurm.qos, submit again", STUCK},
  {"accountnotallowed", "its account may not use this partition",
   "sweep stop, change slurm.account or slurm.partition", STUCK},
  {"qosnotallowed", "its QOS may not use this partition", "sweep stop, change slurm.qos or slurm.partition", STUCK},
  {"maxmemperlimit", "requests more memory than a job may", "sweep stop, lower slurm.mem, submit again", STUCK},
  {"assoc*perjob", "requests more than a job of its account may",
   "sweep stop, request less in [slurm], submit again", STUCK},
  {"assoc*pernode", "requests more per node than its account may",
   "sweep stop, request less in [slurm], submit again", STUCK},
  {"assoc*runminutes", "waits for a limit of your account", "jobs of yours must end first", WAITS},
  {"assocgrp*minutes", "its account has used up its time", "wait for more, or change slurm.account", STUCK},
  {"assocgrpwall", "its account has used up its time", "wait for more, or change slurm.account", STUCK},
  {"assoc", "waits for a limit of your account", "jobs of yours must end first", WAITS},
  {"qos*perjob", "requests more than a job of its QOS may", "sweep stop, request less in [slurm], submit again",
   STUCK},
  {"qos*pernode", "requests more per node than its QOS may", "sweep stop, request less in [slurm], submit again",
   STUCK},
  {"qosmin*notsatisfied", "requests less than its QOS demands", "sweep stop, change slurm.qos, submit again", STUCK},
  {"qos*runminutes", "waits for a limit of its QOS", "jobs of yours must end first", WAITS},
  {"qosgrp*minutes", "its QOS has used up its time", "wait for more, or change slurm.qos", STUCK},
  {"qosgrpwall", "its QOS has used up its time", "wait for more, or change slurm.qos", STUCK},
  {"qos", "waits for a limit of its QOS", "jobs of yours must end first", WAITS},
  {"maxjobsperaccount", "waits for a limit of your account", "jobs of yours must end first", WAITS},
};

/* Finds the entry of a reason. squeue prints some as "JobHeldUser", others as "launch failed requeued held" or
 * "Nodes_required_for_job_are_DOWN". */
static const Reason *find_reason(const char *reason) {
  char word[80], pattern[80];
  size_t length = 0;
  for (; *reason && length + 1 < sizeof word; reason++)
    if (isalnum((unsigned char)*reason)) word[length++] = (char)tolower((unsigned char)*reason);
  word[length] = '\0';
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    if (isalnum((unsigned char)*reasons[i].pattern) && *reasons[i].pattern != *word) continue;
    snprintf(pattern, sizeof pattern, "%s*", reasons[i].pattern);
    if (fnmatch(pattern, word, 0) == 0) return &reasons[i];
  }
  return NULL;
}

const char *slurm_reason_text(const char *reason) {
  const Reason *known = find_reason(reason);
  return known ? known->text : reason;
}

const char *slurm_reason_advice(const char *reason) {
  const Reason *known = find_reason(reason);
  return known ? known->advice : "";
}

bool slurm_reason_is_held(const char *reason) {
  const Reason *known = find_reason(reason);
  return known && known->kind == HELD;
}

bool slurm_reason_is_stuck(const char *reason) {
  const Reason *known = find_reason(reason);
  return known && known->kind != WAITS;
}
