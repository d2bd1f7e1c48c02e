#!/usr/bin/env bash
# Error rates of verdicts and intervals in few simulated worlds (tests/long/test_statistics.sh). TAP.
STATISTICS_WORLDS=20 exec bash "$(dirname "$0")/../long/test_statistics.sh"
