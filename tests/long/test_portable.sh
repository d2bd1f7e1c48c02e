#!/usr/bin/env bash
# Builds the wheel and the tarball (some minutes the first time; needs Debian's sources and PyPI) and tests them by
# tests/tools/test_portable.sh. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
if [ "$(uname -m)" != x86_64 ] || ! command -v apt-get >/dev/null; then tap_skip "the wheel" "neither Debian nor x86-64"; tap_done; fi
log=$(make --no-print-directory wheel portable 2>&1) || { tap_result "make wheel portable" 1 "$(tail -20 <<<"$log")"; tap_done; }
bash tests/tools/test_portable.sh
exit
