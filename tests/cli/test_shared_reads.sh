#!/usr/bin/env bash
# A group member replaces a file of the shared workspace by a link to a private file of another user, a pipe, a device
# or a directory: readers neither reveal the private file nor block. Covers every file of a workspace and every command
# that reads it. Needs root, to switch to two other users. TAP.
set -u
. "$(dirname "$0")/tap.sh"
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then tap_skip "a stranger's links" "only root can become two others"; tap_done; fi
chmod 755 "$tap_dir"
mkdir -p "$tap_dir/bin"; cp "$SWEEP_BUILD"/bin/{sweep,trainer,analyze} "$tap_dir/bin"; export PATH=$tap_dir/bin:$PATH
cd "$tap_dir"
victim=daemon member=bin group=$(id -g daemon)
as() { (umask 002; setpriv --reuid="$1" --regid="$group" --clear-groups env HOME="$tap_dir/home.$1" XDG_CONFIG_HOME="$tap_dir/home.$1/.config" COLUMNS=100 timeout 20 "${@:2}" </dev/null); }
for person in $victim $member; do mkdir "home.$person"; chown $person "home.$person"; done
echo "PRIVATE-WORDS=of the victim" >private; chown $victim private; chmod 600 private
mkdir work; chown $victim:"$group" work; chmod 2775 work
printf '[sweep]\nname = s\nseeds = 1\n[env]\nnum = 4\nmorphologies = car\nlevel_count = 2\n[train]\ntotal_steps = 512\n[ppo]\nnum_steps = 16\nnum_minibatches = 2\nepochs = 1\n[net]\nwidth = 8\ndepth = 1\n[eval]\ncount = 1\nepisodes = 2\n[grid g]\nppo.epsilon = 0.1, 0.2\n' >s.ini
as $victim sweep submit s.ini --root work --wait --local >out 2>&1 || { echo "Bail out! $(cat out)"; exit 1; }
as $victim sweep submit s --seeds 2 --root work --no-start >out 2>&1
run=$(sed -n 2p work/sweeps/s/manifest.tsv | cut -f2); folder=runs/${run:0:2}/$run
[ -d "work/$folder" ] || { run=$(ls work/runs/*/ | head -1); folder=$(cd work && ls -d runs/*/*/ | head -1); folder=${folder%/}; }
cp -a work clean
commands=("sweep status s" "sweep status s --json" "sweep logs s/0 -n 3" "sweep status s --cost" "sweep collect" "sweep plan s --no-check" "sweep collect --rebuild" "sweep bundle s -o $tap_dir/out.tar.zst --force"
  "analyze table results.db" "analyze report results.db -o $tap_dir/report" "analyze export csv results.db -o $tap_dir/export")
checkpoint=$(cd work && ls $folder/ckpt/iteration-* 2>/dev/null | head -1)
files=(results.db sweeps/s/sweep.ini sweeps/s/manifest.tsv sweeps/s/extended "$folder/state" "$folder/log.txt" "$folder/config.ini" "$folder/attempts.tsv" "$folder/stats.1.tsv" "$folder/eval.1.tsv" "$checkpoint")
put() { # KIND PATH: creates the member's replacement there
  local there=work/$2
  rm -rf "$there"
  case $1 in
    link) as $member ln -s "$tap_dir/private" "$there" ;;
    pipe) as $member mkfifo "$there" ;;
    folder) as $member mkdir "$there" ;;
  esac
}
leaks() { grep -rlaF PRIVATE-WORDS out work report export 2>/dev/null | grep -v "^work/$1$"; { [ ! -e out.tar.zst ] || zstd -dcq out.tar.zst 2>/dev/null; } | grep -qaF PRIVATE-WORDS && echo "the bundle"; }
chmod -R g+w work clean
for kind in link pipe folder; do
  for file in "${files[@]}"; do
    [ -n "$file" ] || continue
    problems=
    for command in "${commands[@]}"; do
      [ "$kind$file" != "folder$checkpoint" ] || continue
      rm -rf work report export out.tar.zst; cp -a clean work
      put $kind "$file" 2>/dev/null
      (cd work && as $victim $command) >out 2>&1; code=$?
      [ $code -ne 124 ] || problems+="waits: $command"$'\n'
      [ $code -lt 128 ] || problems+="exit $code: $command: $(tail -1 out)"$'\n'
      found=$(leaks "$file"); [ -z "$found" ] || problems+="leaks into $found: $command"$'\n'
    done
    tap_check "a $kind instead of ${file/$folder/RUN}" "$problems"
  done
done
tap_done
