#!/usr/bin/env bash
# Workspaces and bundles of other people: no command of this program, page or executor runs code that they bring, unless
# the user trusts it. TAP.
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
cd "$tap_dir" || exit 1
export OMP_NUM_THREADS=1 MARKER=$tap_dir/ran XDG_CONFIG_HOME=$tap_dir/author
mkdir author user w made
cat > evil.sh <<SH
touch "$MARKER"
echo '{"step": 1, "reward": 1}' >> "\$SWEEP_METRICS"
SH
program() { # NAME [COMMAND]
  printf '[sweep]\nname = %s\nseeds = 1\ngoal = max reward\n[program]\ncommand = %s {lr}\nsetup = touch %s\n' "$1" \
    "${2:-sh evil.sh}" "$MARKER"
  printf '[settings]\nlr = 0.5\n[grid g]\nlr = 0.1, 0.2\n'
}
program evil > evil.ini
timeout 60 sweep submit evil.ini --root w --wait > /dev/null 2>&1
tap_check "the author's program has run" "$([ -e "$MARKER" ] || echo "no $MARKER")"
sweep collect --root w > /dev/null
sweep bundle evil --root w > /dev/null
id=$(tail -1 w/sweeps/evil/manifest.tsv | cut -f2)
rm -r "w/runs/${id:0:2}/$id" "$MARKER"    # a run to do

# ---- the user
export XDG_CONFIG_HOME=$tap_dir/user
still() { tap_check "$1 runs nothing" "$([ ! -e "$MARKER" ] || { echo "the command has run"; rm "$MARKER"; })"; }
refused() { # NAME COMMAND...: asks for consent, and names the way
  local name=$1; shift
  tap_run "$name asks" 2 "review it, then pass --trust once" timeout 60 "$@" < /dev/null
  still "$name"
}
quiet() { timeout 60 "$@" > /dev/null 2>&1 < /dev/null; still "sweep $2"; } # COMMAND...
cp -r w copied
sweep unbundle evil.tar.zst out > /dev/null
tap_run "status shows a copied workspace" 0 "evil" sweep status --root copied
for root in copied out; do
  refused "$root: submit" sweep submit evil --root $root
  refused "$root: submit --force" sweep submit evil --root $root --force --local
  refused "$root: --seeds" sweep submit evil --seeds 3 --root $root
  refused "$root: submit of the file in it" sweep submit $root/sweeps/evil/sweep.ini --root $root
  tap_run "$root: a plan reports it" 0 "that you have not trusted" sweep plan evil --root $root
  for command in submit status "status --cost" check collect doctor; do quiet sweep $command evil --root $root; done
  for command in table curves; do timeout 60 analyze $command $root/results.db -o figure > /dev/null 2>&1; still "analyze $command"; done
done

# ---- a file in a workspace that poses as an experiment of the user's own
mkdir -p made/sweeps/evil
program evil "touch $MARKER" > made/sweeps/evil/sweep.ini
refused "an experiment file in a workspace" sweep submit evil --root made
refused "the same by its path" sweep submit made/sweeps/evil/sweep.ini --root made

# ---- names and links by which a sweep poses as such a file
mkdir -p posed/sweeps/{sweeps,file,bare} posed/data/folder
program sweeps "touch $MARKER" > posed/sweeps/sweeps/sweep.ini
program folder "touch $MARKER" > posed/data/folder/sweep.ini
program file "touch $MARKER" > posed/exp.ini
program bare "touch $MARKER" | tee posed/sweeps/bare/sweep.ini > posed/bare
ln -s ../data/folder posed/sweeps/folder
ln -s ../../exp.ini posed/sweeps/file/sweep.ini
ln -s sweeps/file posed/alias
for name in sweeps folder file; do
  refused "sweeps/$name, by name" sweep submit $name --root posed
  refused "sweeps/$name, by its path" sweep submit posed/sweeps/$name/sweep.ini --root posed
  refused "sweeps/$name, from its directory" bash -c "cd posed/sweeps/$name && sweep submit ./sweep.ini --root ../.."
done
refused "a link to its directory" sweep submit posed/alias/sweep.ini --root posed
refused "a file of its name" env -C posed sweep submit bare

# ---- an executor finds a foreign sweep in the queue, with an environment that would load a library
program own "sh own.sh" | grep -v '^setup' > own.ini
echo 'echo "{\"step\": 1, \"reward\": 1}" >> "$SWEEP_METRICS"' > own.sh
printf 'jobs=0\nforce=0\nexecutor=0\nasked=1\n' > copied/sweeps/evil/queued
printf '[sweep]\nname = plain\n[env]\nmorphologies = chain\nnum = 4\n[ppo]\nnum_steps = 16\nnum_minibatches = 2\n[train]\ntotal_steps = 64\n[net]\nwidth = 8\ndepth = 1\n[eval]\ncount = 1\nepisodes = 2\n' > plain.ini
sweep submit plain.ini --root copied --no-start > /dev/null 2>&1
timeout 60 sweep submit plain.ini --root copied --local --wait > /dev/null 2>&1
rm -rf copied/runs/*/"$(tail -1 copied/sweeps/plain/manifest.tsv | cut -f2)"
cp -r copied twice                        # with the record of the environment of `plain`
if command -v "${CC:-gcc}" > /dev/null; then
  printf '#include <stdio.h>\n#include <stdlib.h>\n__attribute__((constructor)) static void run(void) { FILE *f = fopen("%s", "w"); if (f) fclose(f); }\n' "$MARKER" > load.c
  "${CC:-gcc}" -shared -fPIC -o load.so load.c
  echo "LD_PRELOAD=$tap_dir/load.so" >> twice/sweeps/plain/environment
else tap_skip "a library by the environment" "no compiler"; fi
printf 'jobs=0\nforce=0\nexecutor=0\nasked=1\n' > twice/sweeps/plain/queued
timeout 120 sweep submit own.ini --root twice --local --wait > said 2>&1
tap_check "the user's own sweep runs" "$(grep -q '100 %  2 finished' said || cat said)"
still "the executor"
state() { cat "$1"/runs/*/"$2"/state 2>/dev/null | sed -n "s/^$3=//p"; }
plain=$(tail -1 twice/sweeps/plain/manifest.tsv | cut -f2)
ended() { case $(state twice "$plain" status) in finished|failed) ;; *) false ;; esac; }
tap_wait 60 ended
tap_check "a plain run of the copy starts, without the library" "$([ "$(state twice "$plain" status)" = finished ] || cat twice/runs/*/"$plain"/log.txt)"
still "the copy's environment"
tap_check "the foreign program has not started" "$(grep -l 'attempt 1' twice/runs/"${id:0:2}/$id"/log.txt 2>/dev/null)"

# ---- the page
rm -f page; sweep serve --port 0 --json --root twice --control > page 2>&1 & pid=$!
tap_wait 30 eval '[ -s page ] || ! kill -0 $pid'
if grep -q '^}' page && command -v curl > /dev/null; then
  tap_wait 30 grep -q '^}' page
  token=$(tool json token < page) url=http://127.0.0.1:$(tool json port < page)
  curl -s -H "Authorization: Bearer $token" "$url/api/status" > /dev/null
  tap_check "the page takes the request" "$(code=$(curl -s -o /dev/null -w '%{http_code}' -X POST -H "Authorization: Bearer $token" \
    -H "Origin: $url" -H 'Sec-Fetch-Site: same-origin' "$url/api/retry?sweep=evil"); [ "$code" = 202 ] || echo "$code")"
  asked() { curl -s -H "Authorization: Bearer $token" "$url/api/actions" | grep -q -- '--trust'; }
  tap_wait 30 asked; tap_result "and shows that it asks" $?
  still "the page"
else tap_skip "the page" "no curl or libmicrohttpd"; fi
kill $pid 2> /dev/null; wait $pid 2> /dev/null
sweep stop --root twice > /dev/null 2>&1

# ---- consent
tap_run "with --trust it runs" 0 "2 finished" timeout 60 sweep submit evil --root copied --trust --local --wait
tap_check "really" "$([ -e "$MARKER" ] || echo "no $MARKER")"
tap_done
