#!/usr/bin/env bash
# Situations taken from public bug reports of comparable tools, tried end to end; each check begins with the id of its
# report. Unit tests hold the details. Those that need a cluster stand in tests/slurm/test_bug_reports.sh. TAP.
set -u
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tap_dir"

# ---- G, environments: observations, actions, rewards, infos -------------------------------------------------------------

# ---- G, evaluations and seeds -------------------------------------------------------------------------------------------

# ---- X, exported policies -----------------------------------------------------------------------------------------------

# ---- X, figures and tables ----------------------------------------------------------------------------------------------

# ---- H, hosts, paths and processes --------------------------------------------------------------------------------------

# ---- I, experiment files ------------------------------------------------------------------------------------------------

tap_done
