#!/usr/bin/env bash
# Error rates of verdicts and intervals in a few simulated data sets (tests/long/test_statistics.sh). TAP.
STATISTICS_WORLDS=20 exec bash "$(dirname "$0")/../long/test_statistics.sh"
