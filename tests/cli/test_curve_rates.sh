#!/usr/bin/env bash
# Coverage of intervals of fitted curves and best settings in a few simulated data sets (tests/long/test_curve_rates.sh).
# TAP.
CURVE_WORLDS=3 exec bash "$(dirname "$0")/../long/test_curve_rates.sh"
