#!/usr/bin/env bash
# A workspace of a group with a member who writes whatever the modes let him: sweeps, requests, links. Nothing of it runs
# as another user or shows that user's files, unless that user accepts it. Uses real users; needs root. TAP.
set -u
. "$(dirname "$0")/tap.sh"
if [ "$(id -u)" != 0 ] || ! command -v setpriv > /dev/null; then tap_skip "two people" "only root can become two others"; tap_done; fi
chmod 755 "$tap_dir"; cd "$tap_dir" || exit 1
mkdir bin; cp "$SWEEP_BUILD"/bin/{sweep,trainer,analyze} bin; export PATH=$tap_dir/bin:$PATH
ada=12001 mal=12002 pi=12003 group=12000 # she works, he plants; the workspace is a third one's
w=$tap_dir/w home=$tap_dir/home.$ada ran=$tap_dir/ran.
as() { (umask "${MASK:-002}"; setpriv --reuid="$1" --regid=$group --clear-groups env -i HOME="$tap_dir/home.$1" PATH="$PATH" SWEEP_SITE=none \
  LANG=C.UTF-8 timeout -k 5 60 "${@:2}" < /dev/null); }
ada() { as $ada "$@"; }
mal() { as $mal "$@"; }
for user in $ada $mal; do mkdir -m 700 home.$user; chown $user:$group home.$user; done
mkdir -m 777 out; ran=$tap_dir/out/ran
fresh() { ada sweep stop --root "$w" > /dev/null 2>&1; rm -rf "$w"; mkdir "$w"; chown $pi:$group "$w"; chmod 2775 "$w"; rm -f "$ran"; }
still() { tap_check "$1: nothing of it has run" "$([ ! -e "$ran" ] || { echo "as $(stat -c %u "$ran")"; rm "$ran"; })"; }
# experiment NAME COMMAND [LINES of [program]]
experiment() { printf '[sweep]\nname = %s\nseeds = 1\n[program]\ncommand = %s\ncode = none\n%s\n[settings]\nlr = 1.0\nx = 1\n' "$1" "$2" "${3:-}" > "$home/$1.ini"; chown $ada:$group "$home/$1.ini"; chmod 644 "$home/$1.ini"; }
submit() { ada sweep submit "$1" --root "$w" --local --wait "${@:2}"; }
request() { MASK=022 as "$1" sh -c "rm -f $w/sweeps/$2/queued; printf 'jobs=0\nforce=0\nexecutor=0\nasked=1.0\n' > $w/sweeps/$2/queued"; }

# ---- a copy of her sweep with his values
fresh
experiment mine 'sh -c "echo lr {lr}"'
tap_run "her own file needs no question" 0 "1 finished" submit "$home/mine.ini"
tap_run "nor does its name" 0 "nothing to start" submit mine
copy() { # NAME SED: his sweep, of hers
  mal mkdir "$w/sweeps/$1"
  mal sh -c "sed -e 's/^name = mine/name = $1/' -e '$2' $w/sweeps/mine/sweep.ini > $w/sweeps/$1/sweep.ini; sed 's/mine/$1/' $w/sweeps/mine/manifest.tsv > $w/sweeps/$1/manifest.tsv"
}
copy evil "s#^lr = .*#lr = \"1;touch $ran\"#"
tap_run "values of another need consent" 2 "this is a sweep that you have not trusted: it belongs to user $mal" submit evil
tap_run "they are shown" 2 "lr = \"1;touch $ran\"" submit evil
for command in "submit evil --force" "submit evil --failed" "submit evil --seeds 2" "plan evil" "status" "status evil --cost"; do ada sweep $command --root "$w" > /dev/null 2>&1; done
still "evil"
request $mal evil
experiment second 'true'
tap_run "her executor ends while his request waits" 0 "1 finished" submit "$home/second.ini"
still "his request"
request $ada evil                          # as if she had asked before he changed it
experiment third 'true third'
tap_run "her executor refuses what she has not accepted" 0 "1 finished" submit "$home/third.ini"
still "a sweep that was changed"
tap_run "and its log says so" 0 "evil: $w/sweeps/evil/sweep.ini: this is a sweep that you have not trusted" cat "$w/executor.log"
rm -f "$w/sweeps/evil/queued"
tap_run "with --trust it is printed" 0 "lr = \"1;touch $ran\"" submit evil --trust
tap_check "and runs" "$([ -e "$ran" ] || echo "no $ran")"; rm -f "$ran"
tap_run "from then on without a question" 0 "started executor" submit evil --force
rm -f "$ran"; request $mal evil
tap_run "a request of another is not hers to join" 2 "it is queued by another user" submit evil --force
rm -f "$w/sweeps/evil/queued"

# ---- her own sweep, changed by him: each line of it
cp -p "$w/sweeps/mine/sweep.ini" saved
for change in 's/^lr = .*/lr = 2.0/' 's/^lr = .*/lr = "1.0"/' 's/^x = .*/x = 1 | 2/' 's/^code = .*/&\nmetrics = csv:\/etc\/passwd/' \
  's/^code = .*/&\nsetup = id/' 's/^code = .*/&\nresume = x/' 's/^code = .*/&\ncwd = \/tmp/' 's/^code = .*/&\nstep = other/' 's/^code = .*/&\ngrace = 1/' \
  's/^folder = .*/folder = "\/tmp"/' 's/^seeds = .*/seeds = 0..5/' 's/^command = .*/command = "id"/' 's/^\[settings\]/[metric]\na = b\n\n&/' \
  's/^\[settings\]/[slurm]\nsetup = id\n\n&/' 's/^\[settings\]/[grid g]\nlr = 1, 2\n\n&/'; do
  mal sh -c "rm $w/sweeps/mine/sweep.ini; sed '$change' $tap_dir/saved > $w/sweeps/mine/sweep.ini"
  if cmp -s saved "$w/sweeps/mine/sweep.ini"; then tap_result "$change changes the text" 1; continue; fi
  tap_run "changed by $change" 2 "a sweep that you have not trusted" submit mine --force
done
mal rm "$w/sweeps/mine/sweep.ini"; cp -p saved "$w/sweeps/mine/sweep.ini"
tap_run "as she has accepted it" 0 "1 finished" submit mine --force

# ---- a request is hers alone, and each has an executor
experiment waits "sh -c 'until [ -e $tap_dir/out/go ]; do sleep 0.1; done'"
rm -f out/go
MASK=000 ada sweep submit "$home/waits.ini" --root "$w" --local > said 2>&1
running() { grep -qs '^status=running' "$w"/runs/*/*/state; }
tap_wait 60 running
tap_check "nobody else can edit her request, whatever her umask" "$([ "$(stat -c '%u %a' "$w/sweeps/waits/queued")" = "$ada 644" ] || ls -l "$w/sweeps/waits")"
printf '[sweep]\nname = his\nseeds = 1\n[program]\ncommand = true\ncode = none\n' > home.$mal/his.ini; chown $mal:$group home.$mal/his.ini
tap_run "while hers runs, he has his own executor" 0 "his: 1 runs to do, started executor" as $mal sweep submit "$tap_dir/home.$mal/his.ini" --root "$w" --local --wait
touch out/go
gone() { [ ! -e "$w/sweeps/waits/queued" ]; }
tap_wait 60 gone

# ---- what a run is started with
id=$(tail -1 "$w/sweeps/mine/manifest.tsv" | cut -f2); run=$w/runs/${id:0:2}/$id
hash=$(b2sum -l 128 "$run/config.ini" | cut -c1-32)
mal sh -c "cp $run/config.ini $run/new && sed -i 's/^command = .*/command = \"touch $(sed 's/\//\\\//g' <<< "$ran")\"/' $run/new && mv -f $run/new $run/config.ini"
tap_run "a changed config.ini is refused" 1 "config.ini: changed since its run was started" as $ada sweep supervise "$id" --root "$w" --from-start --config-hash "$hash"
tap_run "and so is one without a hash" 2 "config-hash is missing" as $ada sweep supervise "$id" --root "$w" --from-start
still "the changed config.ini"

# ---- whose an experiment file is
own() { # NAME CODE TEXT MODE DIRECTORY-MODE [OWNER]: submits a file in a directory of hers
  rm -rf shared; mkdir shared; experiment own 'true'; cp "$home/own.ini" shared/own.ini
  chown "${6:-$ada}:$group" shared shared/own.ini; chmod "$4" shared/own.ini; chmod "$5" shared
  tap_run "$1" "$2" "$3" submit shared/own.ini --force
}
own "a file of hers" 0 "1 finished" 644 755
XDG=$home/.config/sweep/trusted; rm -f "$XDG"
own "one that her group can write" 2 "the group $group can change it (chmod g-w shared/own.ini)" 664 755; rm -f "$XDG"
own "one that everybody can write" 2 "everybody can change it (chmod o-w shared/own.ini)" 646 755; rm -f "$XDG"
own "one in her group's directory" 2 "the group $group can change its directory (chmod g-w $tap_dir/shared)" 644 2775; rm -f "$XDG"
own "one in a directory of everybody" 2 "everybody can change its directory (chmod o-w $tap_dir/shared)" 644 777; rm -f "$XDG"
own "one in a sticky directory" 0 "1 finished" 644 1777; rm -f "$XDG"
own "one of another" 2 "it belongs to user $mal" 644 755 $mal; rm -f "$XDG"
printf '#!/bin/sh\ntrue\n' > shared/run.sh; chown $mal shared/run.sh; chmod 755 shared
experiment code "sh run.sh" "cwd = $tap_dir/shared"; sed -i '/^code = none/d' "$home/code.ini"
tap_run "code of another" 2 "its code $tap_dir/shared/run.sh belongs to user $mal, and what is put there while a run starts" submit "$home/code.ini"
chown $ada shared/run.sh; chown $mal shared
tap_run "code in a directory of another" 2 "the directory of its code belongs to user $mal" submit "$home/code.ini"
chown $ada:$group shared shared/run.sh; chmod 2775 shared
tap_run "code in a directory of her group" 2 "the group $group can change the directory of its code" submit "$home/code.ini"
tap_run "which she may trust" 0 "1 finished" submit "$home/code.ini" --trust
tap_run "once" 0 "1 finished" submit "$home/code.ini" --force

# ---- code that others can change is watched while the program starts
printf '#!/bin/sh\ntouch %s\n' "$ran" > other.sh; printf '#!/bin/sh\ntrue\n' > good.sh; chmod 755 good.sh other.sh
rm -f out/halt; mal sh -c "until [ -e $tap_dir/out/halt ]; do cp $tap_dir/other.sh shared/new && mv -f shared/new shared/run.sh; cp $tap_dir/good.sh shared/new && mv -f shared/new shared/run.sh; done" & swap=$!
submit "$home/code.ini" --force > said 2>&1
touch out/halt; wait $swap 2> /dev/null
still "code that is exchanged all the time"
tap_check "and it is not started" "$(grep -q -e 'is being changed' -e 'edited since' -e 'not trusted' said || cat said)"
rm -f shared/run.sh shared/new; printf '#!/bin/sh\ntrue\n' > shared/run.sh; chown $ada shared/run.sh
tap_run "as it was, it runs" 0 "1 finished" submit "$home/code.ini" --trust --force
printf '#!/bin/sh\ntouch %s/out/started\nuntil [ -e %s/out/go ]; do sleep 0.1; done\n' "$tap_dir" "$tap_dir" > shared/run.sh
rm -f out/go out/started
submit "$home/code.ini" --trust --force > said 2>&1 & waiting=$!
tap_wait 60 test -e out/started
mal sh -c "cp $tap_dir/other.sh shared/new && mv -f shared/new shared/run.sh"
tap_wait 20 eval '! kill -0 $waiting 2> /dev/null'; touch out/go; wait $waiting
tap_check "a program whose code is exchanged as it starts is killed" "$(grep -q 'failed: its code .*/shared/run.sh was changed while the program started' said || cat said)"
rm -f out/go out/started "$ran"

# ---- files of a run: links to her private ones, planted before it starts
secret=$home/secret
printf 'x 3\nPRIVATEWORD\n' > "$secret"; printf '{"step": 1, "PRIVATEWORD": 123456}\n' > "$home/secret.jsonl"; printf 'step,PRIVATEWORD\n1,123456\n' > "$home/secret.csv"
mkdir -m 700 "$home/events"; printf 'x' > "$home/events/events.out.tfevents.PRIVATEWORD"; chown -R $ada:$group "$home"; chmod 600 "$secret" "$home"/secret.*
by=$mal
planted() { # NAME METRICS PLACE TARGET: planted by $by
  fresh; experiment mine 'sh -c "echo x 1; echo {{ >> $SWEEP_METRICS"' "metrics = $2"
  ada sweep submit "$home/mine.ini" --root "$w" --local --no-start > /dev/null 2>&1
  local id run; id=$(tail -1 "$w/sweeps/mine/manifest.tsv" | cut -f2); run=$w/runs/${id:0:2}/$id
  as $by mkdir -p "$run/files"
  case $4 in list:*) as $by sh -c "printf '+ 0 00000000 00000000 0 0 %s\n' '${4#list:}' > $run/$3" ;; *) as $by ln -s "$4" "$run/$3" ;; esac
  local before; before=$(cat "$secret" "$home"/secret.* | md5sum)
  submit mine > said 2>&1; ada sweep collect --root "$w" > /dev/null 2>&1
  tap_check "$1" "$(find "$w" -type f -exec grep -l -a -e PRIVATEWORD -e 123456 {} +; [ "$(cat "$secret" "$home"/secret.* | md5sum)" = "$before" ] || echo "a private file was changed"
    [ "$5" = fails ] || grep -q '100 %  1 finished' said || cat said)"
}
planted "the output as a link" 'stdout:x=x ([0-9.]+)' metrics.1.out "$secret" runs
planted "the output as a link to nothing" 'stdout:x=x ([0-9.]+)' metrics.1.out "$home/new" runs
tap_check "which is not created" "$(ls "$home/new" 2> /dev/null)"
planted "the metrics as a link" jsonl metrics.1.jsonl "$home/secret.jsonl" runs
planted "a CSV file as a link" 'csv:{dir}/p.csv' files/p.csv "$home/secret.csv" runs
planted "a rotated one" 'csv:{dir}/p.csv' files/p.csv.1 "$home/secret.csv" runs
planted "a JSON file as a link" 'jsonl:{dir}/p.jsonl' files/p.jsonl "$home/secret.jsonl" runs
planted "a directory of events as a link" 'tensorboard:{dir}' files/tb "$home/events" runs
planted "a list of event files" "tensorboard:$home" metrics.1.files "list:$home/events/events.out.tfevents.PRIVATEWORD" runs
planted "a list with a way out" 'tensorboard:{dir}' metrics.1.files "list:$home/events/events.out.tfevents.PRIVATEWORD" runs

# ---- the owner of the workspace is a stranger, too
by=$pi
planted "the owner's link in place of the output" 'stdout:x=x ([0-9.]+)' metrics.1.out "$secret" runs
planted "of the metrics" jsonl metrics.1.jsonl "$home/secret.jsonl" runs
planted "of a CSV file" 'csv:{dir}/p.csv' files/p.csv "$home/secret.csv" runs
experiment mine true
mkdir -p "$home/papers/files"; echo precious | tee "$home/papers/thesis" > "$home/papers/files/data"; chown -R $ada:$group "$home/papers"
relinked() { # NAME DEPTH COMMAND...: the owner puts a link in place of a run, its files or its shard
  local run link name=$1 depth=$2; shift 2
  fresh; submit "$home/mine.ini" > /dev/null 2>&1; run=$(ls -d "$w"/runs/*/*)
  case $depth in run) link=$run ;; files) link=$run/files ;; shard) link=${run%/*} ;; esac
  mkdir -p "$home/papers/${run##*/}/files"; echo precious > "$home/papers/${run##*/}/files/data"; chown -R $ada:$group "$home/papers"
  as $pi mkdir -p "$w/old"; as $pi mv "$link" "$w/old"; as $pi ln -s "$home/papers" "$link"
  [ -L "$link" ] || { tap_result "$name: the link" 1 "$(ls -l "$link")"; return; }
  find "$home/papers" | sort > before
  ada sweep "$@" --root "$w" > said 2>&1
  tap_check "$name" "$(find "$home/papers" | sort | diff before -)"
}
for depth in run files shard; do
  relinked "sweep rm --checkpoints with the owner's link as $depth" $depth rm mine --checkpoints --yes
  relinked "sweep rm" $depth rm mine --yes
  relinked "sweep submit --force" $depth submit "$home/mine.ini" --local --wait --force
done
fresh; submit "$home/mine.ini" > /dev/null 2>&1
as $pi mkdir "$w/sweeps/a"; as $pi ln -s "$secret" "$w/sweeps/a/sweep.ini"; as $pi sh -c "sed 's/mine/a/' $w/sweeps/mine/manifest.tsv > $w/sweeps/a/manifest.tsv"
ada sweep collect --rebuild --root "$w" > said 2>&1
tap_check "sweep collect --rebuild with the owner's link as an experiment" "$(grep -l -a PRIVATEWORD "$w"/results.db*)"
fresh; mkdir elsewhere; chown $pi:$group elsewhere; chmod 2775 elsewhere; as $pi ln -s "$tap_dir/elsewhere" "$w/runs"
tap_run "but the owner may have runs on another disk" 0 "1 finished" submit "$home/mine.ini"
rm -rf elsewhere

# ---- metrics in a directory outside of the workspace that her group may write
cp "$home/secret.csv" "$home/events/p.csv"; cp "$home/secret.jsonl" "$home/events/p.jsonl"
chown -R $ada:$group "$home/events"; chmod 600 "$home"/events/*; chmod 755 "$home"
outside() { # NAME METRICS WHO LINK TARGET [shown]: WHO makes LINK in logs/ while the run is on; shown: the numbers are read
  fresh; rm -rf logs out/go; mkdir logs; chown $ada:$group logs; chmod 2775 logs
  experiment mine "sh -c 'echo x 1; until [ -e $tap_dir/out/go ]; do sleep 0.05; done'" "metrics = $2"
  ada sweep submit "$home/mine.ini" --root "$w" --local > said 2>&1
  tap_wait 60 running
  if [ "$3" = 0 ]; then ln -s "$5" "logs/$4"; else as "$3" ${LINK:-ln -s} "$5" "logs/$4"; fi
  ${MORE:-:}
  touch out/go; tap_wait 60 gone_run; ada sweep collect --root "$w" > /dev/null 2>&1
  local found; found=$(find "$w" -type f -exec grep -l -a -e PRIVATEWORD -e 123456 {} +)
  tap_check "$1" "$(if [ -n "${6:-}" ]; then [ -n "$found" ] || tail -3 "$w"/runs/*/*/log.txt; else echo "$found"; fi
    ada sweep status --root "$w" 2>&1 | grep -q 'finished' || ada sweep status --root "$w")"
}
gone_run() { ! ls "$w"/sweeps/mine/queued > /dev/null 2>&1 && ! running; }
for who in $mal $pi; do
  outside "a CSV file outside as a link of $who" "csv:$tap_dir/logs/p.csv" $who p.csv "$home/secret.csv"
  outside "its directory" "csv:$tap_dir/logs/sub/p.csv" $who sub "$home/events"
  outside "a rotated file" "csv:$tap_dir/logs/p.csv" $who p.csv.1 "$home/secret.csv"
  outside "a JSON file" "jsonl:$tap_dir/logs/p.jsonl" $who p.jsonl "$home/secret.jsonl"
  outside "the directory of one" "jsonl:$tap_dir/logs/a/../sub/p.jsonl" $who sub "$home/events"
  outside "a directory of events" "tensorboard:$tap_dir/logs/sub" $who sub "$home/events"
done
MORE="ln -s sub logs/own" outside "a link of hers that leads to his" "csv:$tap_dir/logs/own/p.csv" $mal sub "$home/events"
MORE="ln -s $tap_dir/logs/p2.csv logs/p.csv" outside "a file's link of root that leads to his" "csv:$tap_dir/logs/p.csv" $mal p2.csv "$home/secret.csv"
MORE="ln -s q.csv logs/p.csv" outside "a chain of three" "csv:$tap_dir/logs/p.csv" $mal q.csv "$home/events/p.csv"
LINK=ln outside "a second name of her file" "csv:$tap_dir/logs/p.csv" $ada p.csv "$home/secret.csv"
outside "but her own link is followed" "csv:$tap_dir/logs/p.csv" $ada p.csv "$home/secret.csv" shown
outside "to a directory, too" "csv:$tap_dir/logs/sub/p.csv" $ada sub "$home/events" shown
outside "and one of root" "jsonl:$tap_dir/logs/sub/p.jsonl" 0 sub "$home/events" shown
rm -rf logs

# ---- whose process is stopped
fresh; printf '[sweep]\nname = his\nseeds = 1\n[program]\ncommand = sh -c "sleep 100"\ncode = none\n' > home.$mal/his.ini; chown $mal:$group home.$mal/his.ini
mal sweep submit "$tap_dir/home.$mal/his.ini" --root "$w" --local > /dev/null 2>&1
tap_wait 60 running
setpriv --reuid=$ada --regid=$group --clear-groups sleep 300 & editor=$!
state=$(ls "$w"/runs/*/*/state)
sed "/^crc32=/d; s/^pid=.*/pid=$editor/" "$state" > changed; printf 'crc32=%s\n' "$(gzip -c < changed | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')" >> changed
mal sh -c "cat $tap_dir/changed > $w/new && mv -f $w/new $state"
tap_check "he can claim that her process is his run" "$(grep -q "^pid=$editor" "$state" || cat "$state")"
ada sweep stop his/0 --root "$w" > said 2>&1
sleep 0.3
tap_check "and sweep stop does not end it" "$(kill -0 $editor 2> /dev/null || cat said)"
kill $editor; wait $editor 2> /dev/null
mal sweep stop his --root "$w" --no-wait > /dev/null 2>&1

# ---- a sweep of his that cannot be read
has_none() { [ -z "$(find /proc -maxdepth 1 -uid "$1" -name '[0-9]*' 2> /dev/null)" ]; }
tap_wait 60 has_none $mal # his executor writes into the workspace until it ends
fresh; submit "$home/mine.ini" > /dev/null 2>&1
mal sweep submit "$tap_dir/home.$mal/his.ini" --root "$w" --local --no-start > /dev/null 2>&1
ada sweep collect --root "$w" > /dev/null; rm -rf whole; cp -a "$w" whole
id=$(tail -1 "$w/sweeps/mine/manifest.tsv" | cut -f2)
for kind in manifest.tsv:pipe manifest.tsv:unreadable manifest.tsv:garbage manifest.tsv:folder manifest.tsv:link queued:pipe queued:folder queued:garbage sweep.ini:pipe; do
  problems=''
  for command in "status" "status --json" "status mine" "collect" "rm mine --checkpoints --yes" "rm $id --dry-run" "rm --stale mine --dry-run" "stop" "logs $id" "rm mine --yes"; do
    tap_wait 60 rm -rf "$w"; cp -a whole "$w"; file=$w/sweeps/his/${kind%:*}; mal rm -f "$file"
    case ${kind#*:} in
      pipe) mal mkfifo "$file" ;;
      unreadable) mal install -m 600 /dev/null "$file" ;;
      garbage) mal sh -c "head -c 3000 /dev/urandom > $file" ;;
      folder) mal mkdir "$file" ;;
      link) mal ln -s /etc/hostname "$file" ;;
    esac
    ada sweep $command --root "$w" > said 2>&1; code=$?
    [ $code -eq 0 ] || problems+="$command: exit $code: $(tail -1 said)"$'\n'
  done
  tap_check "his broken ${kind/:/, a } keeps no command from its work" "$problems"
done
rm -rf "$w"; cp -a whole "$w"; rm -f "$w/sweeps/his/manifest.tsv"; mkfifo "$w/sweeps/his/manifest.tsv"; chown -R $ada "$w/sweeps/his"
tap_run "but one of her own may share runs with what is removed" 1 "it is not a regular file but a pipe" ada sweep rm mine --yes --root "$w"

# ---- a program that proposes trials, exchanged by him: in the text, or where it lies
fresh
printf '#!/bin/sh\nexit 0\n' > "$home/ask.sh"; printf '#!/bin/sh\ntouch %s\n' "$ran" > out/planted.sh; chmod 755 "$home/ask.sh" out/planted.sh; chown $ada:$group "$home/ask.sh"
printf '%s\n' "[sweep]" "name = asks" "[program]" "command = sh $home/run.sh" "code = none" "[settings]" "lr = 1.0" "[search s]" \
  "method = command:ask.sh" "goal = max s" "lr = 0.0 .. 1.0" "trials = 4" "startup = 2" > "$home/asks.ini"
cat > "$home/run.sh" <<'SH'
#!/bin/sh
echo '{"step": 1, "s": 1}' >> "$SWEEP_METRICS"
SH
chmod 644 "$home/run.sh" "$home/asks.ini"; chown $ada:$group "$home/run.sh" "$home/asks.ini"
tap_run "her search runs up to its proposals" 75 "the search has trials left" submit "$home/asks.ini"
cp -p "$w/sweeps/asks/sweep.ini" saved
sum=$(sha256sum < out/planted.sh | cut -d' ' -f1)
for change in "s#^method = .*#method = \"command:$tap_dir/out/planted.sh sha256:$sum\"#" "s#sha256:[0-9a-f]*#sha256:$sum#" "s#^timeout = .*#timeout = 7#"; do
  mal sh -c "rm $w/sweeps/asks/sweep.ini; sed '$change' $tap_dir/saved > $w/sweeps/asks/sweep.ini"
  if cmp -s saved "$w/sweeps/asks/sweep.ini"; then tap_result "$change changes the text" 1; continue; fi
  tap_run "changed by $change" 2 "a sweep that you have not trusted" submit asks
  request $ada asks; ada sweep submit "$home/second.ini" --root "$w" --local --wait > /dev/null 2>&1
  for command in "plan asks" "status asks" "submit asks --no-check --no-start"; do ada sweep $command --root "$w" > /dev/null 2>&1; done
  still "a search changed by $change"; rm -f "$w/sweeps/asks/queued"
done
mal rm "$w/sweeps/asks/sweep.ini"; cp -p saved "$w/sweeps/asks/sweep.ini"
cp out/planted.sh "$home/ask.sh"
tap_run "another program in its place is not started" 2 "the program was changed after the sweep was submitted" submit asks
still "a program in the place of hers"
chmod 775 "$home" "$home/ask.sh"
tap_run "one that the group can exchange needs consent" 2 "the group $group can change" submit "$home/asks.ini"
still "a program that the group can exchange"
chmod 700 "$home"

# ---- a link in place of an experiment file
rm -f "$home/.config/sweep/trusted"; rm -rf shared; mkdir shared; chown $ada:$group shared; chmod 2775 shared
experiment copied true; cp "$home/mine.ini" shared/mine.ini; chown $ada:$group shared/mine.ini; chmod 644 shared/mine.ini
mal sh -c "rm -f shared/mine.ini; ln -s $home/copied.ini shared/mine.ini"
tap_run "another's link to a file of hers" 2 "it is a symbolic link of user $mal" submit shared/mine.ini
rm shared/mine.ini; ln -s "$home/copied.ini" shared/mine.ini; chown -h $ada shared/mine.ini
tap_run "a link that another can replace" 2 "the group $group can change the directory of its symbolic link" submit shared/mine.ini
fresh
tap_done
