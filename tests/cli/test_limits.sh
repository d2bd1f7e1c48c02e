#!/usr/bin/env bash
# Limits of the shell (ulimit) end no command without a word. TAP.
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
cd "$tap_dir" || exit 1
printf '[sweep]\nname = k\nseeds = 2\n[program]\ncommand = true\n' > k.ini
timeout 60 sweep submit k.ini --root made --local --wait --trust > said 2>&1 || cat said
sweep collect --root made > said 2>&1
says() { # LIMIT: no command is ended by a signal, and one that fails says why
  local command code
  for command in "sweep submit k.ini --root w --local --wait --trust" "sweep status --root w" "sweep collect --root w" "sweep collect --rebuild --root w" \
    "sweep bundle k --root w -o b.tar.zst" "analyze table w/results.db" "analyze report w/results.db -o report" "analyze export csv w/results.db -o csv"; do
    (eval "$1"; exec timeout 60 $command 2>&1 < /dev/null) | cat > said
    code=${PIPESTATUS[0]}
    [ "$code" -lt 124 ] || echo "$1: $command: exit $code"
    [ "$code" = 0 ] || [ -s said ] || echo "$1: $command: exit $code without a word"
  done
}
for limit in "ulimit -f 0" "ulimit -f 8" "ulimit -f 64" "ulimit -f 200" "ulimit -s 128" "ulimit -s 64" "ulimit -S -s 64" "ulimit -s 256" "ulimit -n 16"; do
  rm -rf w b.tar.zst report csv; cp -r made w; rm w/results.db
  tap_check "$limit" "$(says "$limit")"
done
tap_run "the message names the limit" 1 "ulimit -s" bash -c 'ulimit -s 128; exec sweep status --root w'
tap_run "and what a file's limit is" 1 "too large" bash -c 'ulimit -f 0; exec sweep annotate k --tag x --root w'
tap_done
