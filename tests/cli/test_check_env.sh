#!/usr/bin/env bash
# Warnings of Gymnasium's environment checker in a run's log, a plan and a dry run: each once and in one line; the
# checker never affects the run. TAP.
set -u
. tests/cli/tap.sh
. tests/cli/small.sh
export SWEEP_PYTHON=$SWEEP_BUILD/python/bin/python OPENBLAS_NUM_THREADS=1 PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1
if ! "$SWEEP_PYTHON" -c "import gymnasium" 2>/dev/null; then
  tap_skip "Gymnasium's checker" "no Gymnasium in build/python: make python"
  tap_done
fi
export PYTHONPATH=$PWD/tests/cli/environments SWEEP_TEST_CLOSED=$tap_dir/closed
{ printf '%s\n' '[env]' 'task = gym/imperfect:Good-v0' 'num = 4' 'max_steps = 50'; small_settings; } >"$tap_dir/small.ini"
train() { # KIND SETTINGS...
  rm -rf "$tap_dir/$1"; mkdir "$tap_dir/$1"
  timeout 300 trainer --config "$tap_dir/small.ini" --root "$tap_dir/$1" --set env.task="gym/imperfect:$1-v0" --set train.total_steps=128 "${@:2}"
}
remarks() { grep -h "check_env" "$tap_dir/$1"/runs/*/*/log.txt; }
results() { # results without times
  awk -F'\t' '/^#/ { next } !c { for (i = 1; i <= NF; i++) if ($i ~ /^kl(\[|$)/) c = i; next } { print $c }' "$tap_dir/$1"/runs/*/*/stats.*.tsv
}

tap_run "an environment that is in order" 0 "finished" train Good
tap_check "is not spoken of" "$(remarks Good)"
tap_run "warnings of the checker are shown" 0 "warning: gym/imperfect:Lists-v0: Gymnasium's check_env warns: " train Lists
tap_check "and logged, each thing once" "$([ "$(remarks Lists | wc -l)" -ge 2 ] || echo "not there"; remarks Lists | cut -d' ' -f2- | sort | uniq -d)"
tap_run "its errors do not end the run" 0 "finished" train Drifts
tap_result "but are reported" "$(remarks Drifts | grep -q "gym/imperfect:Drifts-v0 does not pass Gymnasium's check_env: .*deterministic\|same seed\|equivalent"; echo $?)" \
  "$(remarks Drifts)"
tap_run "the registered environment is checked, with its wrappers" 0 "finished" train Wrapped
tap_check "as it is trained" "$(remarks Wrapped)"
tap_run "one that talks without end" 0 "finished" train Talks
tap_check "has eight lines of 300 characters" "$(remarks Talks | awk 'length > 420 { print length } END { if (NR != 8) print NR " lines" }'
  remarks Talks | grep -q "and of 2[0-9] things more" || echo "no count")"
tap_check "without controls" "$(remarks Talks | LC_ALL=C grep -naP '\x1b|\x07|\xe2\x80\xae' | cat -v)"
tap_run "one that raises an error" 0 "does not pass Gymnasium's check_env: RuntimeError: no license" train Raises

# ---- the checker itself fails
tap_run "one that hangs" 0 "Gymnasium's check_env returned no result: its worker did not reply within 15 s" train Hangs --set env.timeout=15
tap_run "one that ends its process" 0 "exited with code 3; its last output: out of credit" train Exits
tap_run "one that crashes" 0 "check_env returned no result: its worker, run by $SWEEP_PYTHON, was killed by signal 11" train Crashes
tap_run "one that prints a megabyte" 0 "finished" train Prints
tap_run "one that leaves a process behind" 0 "exited with code 4" train Leaves
for kind in Talks Raises Hangs Exits Crashes Prints Leaves; do
  tap_check "the run is that of an environment in order: $kind" "$([ -n "$(results Good)" ] || echo nothing; diff <(results Good) <(results $kind))"
done
tap_run "one that cannot be closed" 0 "Clings-v0: Gymnasium's check_env warns: The obs returned" train Clings --set env.timeout=15
train Closed --quiet
tap_check "the checked instance is closed, and no other" "$(sort "$tap_dir/closed" | uniq | grep -vx True; [ -s "$tap_dir/closed" ] || echo "none is closed")"
for left in $(grep -lzx sleep /proc/[0-9]*/cmdline 2>/dev/null); do
  tr '\0' ' ' <"$left" | grep -qx "sleep 1000 " && [ "$(cut -d' ' -f4 "${left%cmdline}stat")" = 1 ] && kill "$(basename "${left%/cmdline}")"
done

# ---- when
mkdir "$tap_dir/again"
again=(--config "$tap_dir/small.ini" --root "$tap_dir/again" --set env.task=gym/imperfect:Lists-v0)
SWEEP_TEST_PAUSE=0.01 trainer "${again[@]}" --quiet --set checkpoint.every_iterations=1 & pid=$!
tap_wait 60 sh -c 'ls "$1"/again/runs/*/*/ckpt/iteration-*.ckpt >/dev/null 2>&1' _ "$tap_dir"
kill -TERM $pid; wait $pid
tap_result "a run is stopped" "$([ $? = 75 ]; echo $?)"
tap_run "and continues" 0 "finished" trainer "${again[@]}" --resume
tap_check "it is not checked again" "$(remarks again | cut -d' ' -f2- | sort | uniq -d)"
tap_run "a dry run says it" 0 "Lists-v0: Gymnasium's check_env warns" train Lists --dry-run
{ printf '%s\n' '[sweep]' 'name = lists' '[grid g]' 'net.width = 8, 12, 16'; sed 's/Good/Lists/; /^width/d' "$tap_dir/small.ini"; } >"$tap_dir/lists.ini"
sweep plan "$tap_dir/lists.ini" --root "$tap_dir" --trust >"$tap_dir/plan" 2>&1
tap_result "a plan says it" "$(grep -q "lists.ini: gym/imperfect:Lists-v0: Gymnasium's check_env warns: " "$tap_dir/plan"; echo $?)" "$(cat "$tap_dir/plan")"
tap_result "once for all configurations, which would start" "$(grep -q "would start all 3" "$tap_dir/plan" &&
  [ -z "$(grep check_env "$tap_dir/plan" | cut -d' ' -f2- | sort | uniq -d)" ]; echo $?)" "$(cat "$tap_dir/plan")"
sed 's/Lists/Hangs/; s/^\[env\]/&\ntimeout = 15/' "$tap_dir/lists.ini" >"$tap_dir/hangs.ini"
sweep plan "$tap_dir/hangs.ini" --root "$tap_dir" --trust >"$tap_dir/plan" 2>&1
tap_result "one that hangs there does not hold the plan up" "$(grep -q "would start all 3" "$tap_dir/plan" && grep -q "did not reply within 15 s" "$tap_dir/plan"
  echo $?)" "$(cat "$tap_dir/plan")"

# ---- the Python used, and its message
printf '#!/bin/sh\ncase $1 in *worker.py) echo "first line" >&2; printf "\\033[31mno license server\\n\\n" >&2; exit 3 ;; esac\nexec "%s" "$@"\n' \
  "$SWEEP_PYTHON" >"$tap_dir/broken"
chmod +x "$tap_dir/broken"
tap_run "a Python that cannot start is named, with its message" 2 \
  "its worker, run by $tap_dir/broken, exited with code 3; its last output: first line ?[31mno license server" \
  train Good --set env.python="$tap_dir/broken"
mkdir "$tap_dir/bin"; ln -s "$tap_dir/broken" "$tap_dir/bin/python3"
tap_run "found in PATH, too" 2 "run by $tap_dir/bin/python3, exited with code 3" env -u SWEEP_PYTHON PATH="$tap_dir/bin:$PATH" \
  trainer --config "$tap_dir/small.ini" --root "$tap_dir" --dry-run

# ---- folders that are no whole paths
(cd "$tap_dir" && mkdir sub && cp "$OLDPWD/tests/cli/environments/imperfect.py" sub/imperfect.py)
relative() { (cd "$tap_dir" && PYTHONPATH=$1 trainer --config small.ini --root again --dry-run); }
tap_run "relative directories of PYTHONPATH are named" 0 "PYTHONPATH: sub other/lib: workers search relative paths for the task's module only" \
  relative "sub:$PWD/tests/cli/environments:other/lib"
tap_check "empty ones are not" "$(relative ":$PWD/tests/cli/environments:" 2>&1 | grep PYTHONPATH)"
tap_done
