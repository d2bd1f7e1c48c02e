#!/usr/bin/env bash
# The script of sweep serve's page without a browser, if node is installed (tests/tools/page_script.js). TAP.
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v node >/dev/null || { tap_skip "the page's script" "no node"; tap_done; }
node "$top/tests/tools/page_script.js" "$top" >"$tap_dir/said" 2>&1
code=$?
while read -r verdict name; do
  case $verdict in
    good) tap_result "$name" 0 ;;
    bad) tap_result "$name" 1 ;;
  esac
done <"$tap_dir/said"
tap_check "the whole of it was done" "$([ $code -eq 0 ] && grep -q good "$tap_dir/said" || cat "$tap_dir/said")"
tap_done
