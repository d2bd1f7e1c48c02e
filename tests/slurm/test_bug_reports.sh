#!/usr/bin/env bash
# Situations on clusters taken from public bug reports of comparable tools, tried on a real Slurm; each check begins with
# the id of its report. Those that need no cluster stand in tests/cli/test_bug_reports.sh. TAP.
set -u
. "$(dirname "$0")/../cli/tap.sh"
tap_done
