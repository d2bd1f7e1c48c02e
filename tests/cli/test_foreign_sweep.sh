#!/usr/bin/env bash
# A sweep.ini of one member of a group that is broken, huge or made to exhaust memory stops nobody else's commands. TAP.
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
cd "$tap_dir" || exit 1
program() { printf '[sweep]\nname = %s\nseeds = 1\n[program]\ncommand = true\nmetrics = "stdout:a=x ([0-9]+)"\n%s\n' "$1" "${2:-}"; }
program good > good.ini; program bad > bad.ini
for name in good bad; do timeout 60 sweep submit $name.ini --root made --wait --trust > said 2>&1; done
repeat() { printf "%0.s$1" $(seq "$2"); } # TEXT NUMBER
metrics() { sed -i "s%^metrics = .*%metrics = \"stdout:a=$1\"%" "$bad"; }

spoil() { # KIND: changes w/sweeps/bad/sweep.ini
  bad=w/sweeps/bad/sweep.ini
  case $1 in
    "repeated repetitions") metrics '((x{1,32767}){1,100})' ;;
    "20 000 parentheses") metrics "$(repeat '(' 20000)x$(repeat ')' 20000)" ;;
    "20 000 alternatives") metrics "(a$(repeat '|a' 20000))" ;;
    "nested pluses") metrics "$(repeat '(' 18)x$(repeat '+)' 18)+" ;;
    "a back-reference") metrics '(.*)\\\\1' ;;
    "bytes") head -c 100000 /dev/urandom > "$bad" ;;
    "nothing") : > "$bad" ;;
    "70 MB") head -c 70000000 /dev/zero | tr '\0' x > "$bad" ;;
    "a pipe") rm "$bad"; mkfifo "$bad" ;;
    "a directory") rm "$bad"; mkdir "$bad" ;;
    "a link") rm "$bad"; ln -s /etc/passwd "$bad" ;;
    "no file") rm "$bad" ;;
    "a large grid") for g in 1 2 3 4 5 6; do printf '[grid g%s]\ntrain.seed = %s\n' $g "$(seq -s, 1 900)"; done >> "$bad" ;;
    "another name") sed -i 's/name = bad/name = good/' "$bad" ;;
    "a broken manifest") echo 'index	run' > w/sweeps/bad/manifest.tsv; repeat '1\t../../x\n' 1000 >> w/sweeps/bad/manifest.tsv ;;
    "a pipe as manifest") rm w/sweeps/bad/manifest.tsv; mkfifo w/sweeps/bad/manifest.tsv ;;
  esac
}

if command -v curl > /dev/null && sweep serve --help > /dev/null; then has_page=1; else has_page=''; fi
page() { # the page shows the good sweep; ends in time
  rm -f page # of the page before, which may be read until the next one has begun
  sweep serve --port 0 --json --root w > page 2>&1 & local pid=$!
  tap_wait 30 eval 'grep -qs "^}" page || ! kill -0 $pid'
  if ! grep -q '^}' page; then grep -q libmicrohttpd page || cat page; return; fi
  curl -s --max-time 30 -H "Authorization: Bearer $(tool json token < page)" "http://127.0.0.1:$(tool json port < page)/api/status" > answer
  kill -TERM $pid; wait $pid 2> /dev/null
  grep -q '"good"' answer || { echo "the page: $(head -c 300 answer)"; }
}
for kind in "repeated repetitions" "20 000 parentheses" "20 000 alternatives" "nested pluses" "a back-reference" bytes nothing "70 MB" \
  "a pipe" "a directory" "a link" "no file" "a large grid" "another name" "a broken manifest" "a pipe as manifest"; do
  until rm -rf w 2> /dev/null; do sleep 0.1; done # an executor that submit has started may end a moment later
  cp -r made w; spoil "$kind"
  tap_check "$kind" "$(ulimit -v 4000000
    for command in "status" "status good" "collect" "collect --rebuild" "plan good" "rm good --dry-run" "submit good.ini"; do
      timeout 30 sweep $command --root w > said 2>&1 < /dev/null; code=$?
      # 1: the command has done its work, and reports the sweep; what others share with a broken manifest is unknown to rm
      [ $code = 0 ] || [[ $code = 1 && ($command == collect || $kind == *manifest) ]] || { echo "$command: exit $code"; tail -2 said | cut -c1-300; }
      case $command in status*) grep -q '^good.*1 finished' said || { echo "$command"; head -3 said; } ;; esac
    done
    [ -z "$has_page" ] || page)"
done
tap_done
