#!/usr/bin/env bash
# Help, manual pages and completions are generated from the same tables: every command and option of --help is in the
# others, help fits the terminal, and completions are valid arguments. TAP.
set -u
. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")/../.." || exit 1
unset COLUMNS
export SWEEP_ROOT=$tap_dir/work
mkdir -p "$SWEEP_ROOT" "$tap_dir/empty"
programs="sweep trainer analyze"
# All help texts, once: a file per command, with its sorted options next to it.
declare -A commands
for p in $programs; do
  mkdir -p "$tap_dir/help"
  commands[$p]=$("$p" help </dev/null | sed -n '/^Commands:/,/^$/p' | sed -nE 's/^  ([a-z0-9-]+)( .*|$)/\1/p' | xargs)
  for c in ${commands[$p]}; do
    "$p" "$c" --help >"$tap_dir/help/$p-$c" || echo "Bail out! $p $c --help: exit code $?"
    sed -n '/^Options:/,/^$/s/^  ....\(--[a-z-]*\).*/\1/p' "$tap_dir/help/$p-$c" | sort >"$tap_dir/help/$p-$c.options"
  done
done

# ---- help ----
for p in $programs; do
  problems=
  [ "$(wc -w <<<"${commands[$p]}")" -ge 8 ] || problems+="only these commands: ${commands[$p]}"$'\n'
  for c in ${commands[$p]}; do
    want=$(<"$tap_dir/help/$p-$c")
    [ "$want" = "$("$p" "$c" -h)" ] || problems+="$p $c -h says something else"$'\n'
    [ "$want" = "$("$p" help "$c")" ] || problems+="$p help $c says something else"$'\n'
    grep -q "^  $p" <<<"$want" || problems+="$p $c: no usage"$'\n'
    out=$("$p" "$c" --no-such-option 2>&1); code=$?
    [[ $code == 2 && $out == *"unknown option --no-such-option"* ]] || problems+="$p $c --no-such-option: $code $out"$'\n'
  done
  tap_check "$p: every command explains itself in three ways and refuses unknown options" "$problems"
  tap_expect "$p --version: version and commit" 0 "^$p [0-9]+\.[0-9]+\.[0-9]+ \(commit [0-9a-f]{7}" "$p" --version
  tap_expect "$p --version: build options" 0 '^with .*(oneDNN|OpenBLAS)' "$p" --version
  tap_expect "$p: an unknown option before any command" 2 "$p: unknown option --vresion; " "$p" --vresion
  tap_run "$p help: an unknown command" 2 "unknown command 'nonsense'" "$p" help nonsense
  if [ -e /dev/full ]; then
    problems=
    for line in "--help" "--version" "help ${commands[$p]%% *}" "-h"; do
      # shellcheck disable=SC2086
      out=$("$p" $line 2>&1 >/dev/full); code=$?
      [ $code -eq 1 ] && grep -q 'cannot write to standard output' <<<"$out" || problems+="$p $line >/dev/full: $code $out"$'\n'
    done
    tap_check "$p: help that is lost is a failure" "$problems"
  fi
done

# ---- width ----
# Lines longer than the terminal, except single words, since names and paths are not cut.
long() { grep -E "^.{$(($1 + 1)),}" | grep -vE '^ *[^ ]+$' | sed "s/^/$2: /"; }
for width in 40 60 80; do
  problems=
  for p in $programs; do
    problems+=$(COLUMNS=$width "$p" help | long $width "$p")
    for c in ${commands[$p]}; do problems+=$(COLUMNS=$width "$p" help "$c" | long $width "$p $c"); done
  done
  tap_check "help fits into $width columns" "$problems"
done
columns() { wc -L | tr -d ' '; }
tap_check "in a pipe without a terminal it is 80 wide" "$(n=$(sweep help submit 2>/dev/null </dev/null | columns)
  [ "$n" -le 80 ] && [ "$n" -gt 70 ] || echo "$n columns")"
tap_check "never more than 100" "$(n=$(COLUMNS=200 trainer -h | columns); [ "$n" -le 100 ] && [ "$n" -gt 90 ] || echo "$n columns")"
if command -v script >/dev/null; then
  tap_check "in a pipe on a terminal of 64 columns it is 64 wide" "$(
    script -qec "stty cols 64; sweep help submit | cat >$tap_dir/narrow" /dev/null </dev/null >/dev/null 2>&1
    n=$(columns <"$tap_dir/narrow"); [ "$n" -le 64 ] && [ "$n" -gt 54 ] || echo "$n columns")"
else tap_skip "the width of a terminal behind a pipe" "no script(1)"; fi
tap_check "a long usage continues below its arguments" "$(COLUMNS=60 analyze help curves | sed -n 3p |
  grep -qE '^ {17}\[' || COLUMNS=60 analyze help curves | head -4)"

# ---- manual pages ----
man=$tap_dir/man
for p in $programs; do
  tap_run "$p --man" 0 "" "$p" --man "$man"
  problems=
  for c in ${commands[$p]}; do
    [ -s "$man/$p-$c.1" ] || { problems+="$p-$c.1 is missing"$'\n'; continue; }
    missing=$(sed -n '/^\.SH "OPTIONS"/,/^\.SH/p' "$man/$p-$c.1" | sed -nE 's/\\-/-/g; s/\\f[BIR]//g; s/^(-., )?(--[a-z-]+).*/\2/p' |
      sort | comm -13 - "$tap_dir/help/$p-$c.options" | xargs)
    [ -z "$missing" ] || problems+="$p-$c.1 has no $missing"$'\n'
  done
  missing=$(sed 's/\\-/-/g; s/\\f[BIR]//g' "$man/$p.1" | sort -u | comm -13 - <(xargs -n 1 <<<"${commands[$p]}" | sort) | xargs)
  [ -z "$missing" ] || problems+="$p.1 does not list $missing"
  tap_check "$p: a page for each command, with each option" "$problems"
done
tap_check "trainer(1) has all settings" "$(trainer config | awk -F'[][= ]+' '/^\[/ { s = $2; next } NF > 1 { print s "." $1 }' |
  sort | comm -23 - <(sed 's/\\f[BIR]//g; s/\\-/-/g' "$man/trainer.1" | sort -u))"
if command -v mandoc >/dev/null; then
  tap_check "mandoc finds nothing wrong" "$(mandoc -Tlint -W warning "$man"/*.1 2>&1 | head -5)"
else tap_skip "mandoc -Tlint" "no mandoc"; fi
if command -v groff >/dev/null; then
  tap_check "groff finds nothing wrong" "$(for page in "$man"/*.1; do groff -ww -man -Tutf8 "$page" 2>&1 >/dev/null; done | head -5)"
  tap_check "a page reads as the help does" "$(GROFF_NO_SGR=1 groff -man -Tutf8 "$man/analyze-sql.1" | sed 's/.\x08//g' |
    tr -s ' \n' ' ' | grep -qF "WHERE s.name = 'ppo.com' GROUP BY 1\"" || echo "the quotes got lost")"
else tap_skip "groff -ww" "no groff"; fi
if command -v lexgrog >/dev/null; then
  tap_check "apropos can read each page's name" "$(for page in "$man"/*.1; do lexgrog "$page" >/dev/null 2>&1 || echo "$page"; done)"
else tap_skip "lexgrog" "no man-db"; fi
tap_run "pages where none can be written" 1 "cannot create directory /dev/null" sweep --man /dev/null/man

# ---- completions ----
for p in $programs; do
  problems=
  problems=$("$p" --complete "" | cut -f1 | sort | comm -13 - <(xargs -n 1 <<<"${commands[$p]}" | sort))
  for c in ${commands[$p]}; do
    missing=$("$p" --complete "$c" -- | cut -f1 | sort | comm -13 - "$tap_dir/help/$p-$c.options" | xargs)
    [ -z "$missing" ] || problems+="$p $c: $missing is not offered"$'\n'
  done
  tap_check "$p: each command and option is offered" "$problems"
done
offers() { # name, required completions, words
  local name=$1 want=$2 got; shift 2
  got=$("$@" | cut -f1)
  tap_check "$name" "$(for w in $want; do grep -qxF -- "$w" <<<"$got" || echo "no $w in: $(xargs <<<"$got")"; done)"
}
cat >"$tap_dir/study.ini" <<<$'[sweep]\nname = study\n[train]\ntotal_steps = 1k\n[profile demo]\nsweep.seeds = 2\n[profile big grid a]
ppo.epochs = 1\n[grid a]\nppo.epochs = 2, 3\n[profile big]\nsweep.seeds = 9'
tap_run "a sweep to complete" 0 "" sweep submit "$tap_dir/study.ini" --no-start
offers "sweep: names of sweeps" "study" sweep --complete status ""
tap_check "sweep: none of another workspace" "$(sweep --complete status -r "$tap_dir/empty" "" | grep study)"
offers "sweep: sweeps where a file may stand too" "study" sweep --complete submit ""
tap_check "sweep: experiments" "$(sweep --complete submit "" | grep -qx ':files ini' || echo "no :files ini")"
offers "sweep: profiles of the file" "demo big" sweep --complete plan "$tap_dir/study.ini" --profile ""
tap_check "sweep: a block of a profile is none" "$(sweep --complete plan "$tap_dir/study.ini" -p "" | grep -n ' ')"
offers "sweep: settings, Slurm's too" "env.num= slurm.partition= sweep.seeds=" sweep --complete submit --set ""
offers "sweep: choices of a setting" "algo.name=ppo algo.name=ppo_ewma" sweep --complete submit -s algo.name=p
offers "sweep: --set=KEY" "--set=env.task=loco512" sweep --complete submit --set=env.task=l
tap_check "sweep: given options are not offered again, except lists" "$(
  got=$(sweep --complete submit --wait --set a=1 --); grep -E '^--wait' <<<"$got"; grep -q '^--set' <<<"$got" || echo "no --set")"
offers "trainer: options without a command" "--config --version" trainer --complete --
offers "trainer: a file for --config" ":files" trainer --complete --config ""
offers "analyze: figures, the papers' too" "curves fig9" analyze --complete ""
offers "analyze: columns, in a list" "kl,ddr kl,distance" analyze --complete curves --y kl,d
offers "analyze: choices that the help names" "mean median iqm" analyze --complete curves x.db --aggregate ""
tap_check "analyze: a database" "$(analyze --complete curves "" | grep -qx ':files db' || echo "no :files db")"
offers "analyze: formats" "csv jsonl" analyze --complete export ""
tap_check "unknown words have no completions, and no errors" "$(for line in "nonsense x" "plan --speed" "plan -- --" "-" "logs --lines="; do
  # shellcheck disable=SC2086
  sweep --complete $line "" >"$tap_dir/out" 2>&1 || echo "$line: $(cat "$tap_dir/out")"; done; sweep --complete 2>&1 >/dev/null)"
tap_check "a name with a tab or an escape is not offered" "$(mkdir -p "$SWEEP_ROOT/sweeps/"$'a\tb' "$SWEEP_ROOT/sweeps/"$'c\033[1md'
  sweep --complete status "" | grep -E $'^(a|c)'; analyze --complete watch "" | grep -E $'^(a|c)')"

# ---- shells ----
tap_run "--completion of a shell that there is not" 2 "expected bash, zsh or fish" sweep --completion csh
for p in $programs; do for shell in bash zsh fish; do "$p" --completion $shell >"$tap_dir/$p.$shell"; done; done
# Completions of bash for a line, with the cursor at its end.
in_bash() {
  bash --norc -c '. "$1"; COMP_LINE=$2; COMP_POINT=${#2}; "_${2%% *}"; [ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"' \
    bash "$tap_dir/${1%% *}.bash" "$1" 2>&1
}
shell_offers() { # name, function, line, required completions
  local got want=$4
  got=$($2 "$3")
  tap_check "$1" "$(for w in $want; do grep -qxF -- "$w" <<<"$got" || echo "no $w in: $(xargs <<<"$got")"; done)"
}
cd "$tap_dir" || exit 1
mkdir -p folder; : >folder/one.ini; : >folder/notes.txt; : >results.db; mkdir -p 'with blank'
for p in $programs; do tap_run "bash reads $p's completion" 0 "" bash -n "$p.bash"; done
shell_offers "bash: commands" in_bash "sweep st" "status stop"
tap_check "bash: only fitting ones" "$(in_bash "sweep st" | grep -v '^st')"
shell_offers "bash: options" in_bash "sweep plan --sc" "--script"
shell_offers "bash: a sweep's name" in_bash "sweep status s" "study"
shell_offers "bash: folders and experiments" in_bash "sweep plan folder/" "folder/one.ini"
tap_check "bash: no other files there" "$(in_bash "sweep plan folder/" | grep notes)"
shell_offers "bash: behind '='" in_bash "sweep plan --set=env.task=lo" "loco512"
shell_offers "bash: a setting's name" in_bash "trainer --set env.tas" "env.task="
shell_offers "bash: a path behind '='" in_bash "trainer --config=fold" "folder"
shell_offers "bash: a database" in_bash "analyze curves res" "results.db"
tap_check "bash: nothing that is typed is run" "$(in_bash "sweep plan \$(touch $tap_dir/ran) \`touch $tap_dir/ran\` " >/dev/null
  in_bash "sweep status \$(touch $tap_dir/ran)" >/dev/null; ls "$tap_dir/ran" 2>/dev/null)"
in_zsh() { # stubs of the completion system's functions, which print their arguments
  zsh -f -c 'compdef() { :; }; _files() { print -r -- "files $*"; }; compset() { :; }
    _describe() { shift; local each; for each in "${(@P)1}"; do print -r -- "${each%%:*}"; done; }
    . "$1"; words=("${(@s: :)2}"); CURRENT=$#words; "_$words[1]"' zsh "$tap_dir/${1%% *}.zsh" "$1" 2>&1
}
if command -v zsh >/dev/null; then
  for p in $programs; do tap_run "zsh reads $p's completion" 0 "" zsh -fn "$p.zsh"; done
  shell_offers "zsh: commands" in_zsh "sweep st" "status stop"
  shell_offers "zsh: options" in_zsh "analyze curves --agg" "--aggregate"
  shell_offers "zsh: choices" in_zsh "trainer --set env.task=lo" "env.task=loco512"
  tap_expect "zsh: experiments" 0 'files -g \*\.ini' in_zsh "sweep plan "
  tap_expect "zsh: folders" 0 'files -/' in_zsh "sweep status --root "
else tap_skip "zsh" "not installed"; fi
in_fish() { HOME=$tap_dir XDG_CONFIG_HOME=$tap_dir/fish fish --no-config -c "source $tap_dir/${1%% *}.fish; complete -C '$1'" 2>&1 | cut -f1; }
if command -v fish >/dev/null; then
  shell_offers "fish: commands" in_fish "sweep st" "status stop"
  shell_offers "fish: options" in_fish "analyze curves --agg" "--aggregate"
  shell_offers "fish: choices" in_fish "trainer --set env.task=lo" "env.task=loco512"
  shell_offers "fish: experiments" in_fish "sweep plan folder/" "folder/one.ini"
  tap_check "fish: no other files" "$(in_fish "sweep plan folder/" | grep notes)"
  shell_offers "fish: a path behind '='" in_fish "trainer --config=folder/o" "--config=folder/one.ini"
else tap_skip "fish" "not installed"; fi
tap_done
