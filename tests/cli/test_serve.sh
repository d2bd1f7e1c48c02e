#!/usr/bin/env bash
# sweep serve: access control, hostile clients, data that agree with sweep status and analyze, concurrent imports, stop
# and retry, videos. test_serve_page.sh tests the page in a browser. TAP.
set -u
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tap_dir" && mkdir w && export SWEEP_ROOT=$tap_dir/w HOME=$tap_dir SWEEP_SITE=none NO_COLOR=1
tap_run "sweep serve --help" 0 "--control" sweep serve --help
tap_run "a port that is none" 2 "--port 70000" sweep serve --port 70000
sweep serve --port 0 --json >first 2>&1 & pid=$!
ended_or_said() { [ -s first ] || ! kill -0 $pid 2>/dev/null; }
tap_wait 30 ended_or_said
kill $pid 2>/dev/null; wait $pid 2>/dev/null
if grep -q 'built without libmicrohttpd' first; then
  tap_result "without libmicrohttpd it names the package to install" "$(grep -q 'libmicrohttpd-dev' first; echo $?)"
  tap_skip "the rest" "built without libmicrohttpd"
  tap_done
fi
command -v curl >/dev/null || { tap_skip "sweep serve" "no curl"; tap_done; }

# ---- a workspace: runs that end well, and runs that were refused
settings() { printf '[sweep]\nname = %s\nseeds = 2\n[train]\ntotal_steps = %s\nthreads = 1\n[env]\nnum = 8\n[ppo]\nnum_steps = 16\nnum_minibatches = 2\n[net]\nwidth = 8\ndepth = 1\n[eval]\nepisodes = 4\ncount = 2\n%s\n' "$@"; }
video=video_every=2; trainer info | grep -q 'libgd *no' && video=
settings study 1024 "$video" >study.ini; settings broken 2048 "" >broken.ini; settings long 100000000 "" >long.ini
printf '[grid all]\nppo.epsilon = 0.1, 0.2\n' >>study.ini
printf '[slurm]\napi = cli\n' >>broken.ini # without --local it is for Slurm, even if this machine has none
sweep submit study.ini --local --wait --jobs 2 >/dev/null 2>&1
settings tune 1024 "" >tune.ini; sed -i 's/^seeds.*/seeds = 1/' tune.ini
printf '[search tune]\nmethod = sobol\ntrials = 10\ngoal = min kl\nppo.epsilon = 0.05 .. 0.5\nppo.learning_rate = log 1e-5 .. 1e-2\n' >>tune.ini
sweep submit tune.ini --local --wait --jobs 2 >/dev/null 2>&1
ln -s "$(type -P false)" mended # a retry on the page starts the same program as the submission
env SWEEP_TRAINER="$tap_dir/mended" sweep submit broken.ini --local --wait --jobs 2 >/dev/null 2>&1
ln -sf "$SWEEP_BUILD/bin/trainer" mended

serve() { # NAME OPTIONS...: starts one; its token, port and address are in token, port and url
  local name=$1; shift
  sweep serve --port 0 --json "$@" >"$name.json" 2>"$name.err" & pid=$!
  tap_wait 30 grep -q '^}' "$name.json"
  token=$(tool json token <"$name.json") port=$(tool json port <"$name.json") url=http://127.0.0.1:$(tool json port <"$name.json")
}
get() { curl -s -m 60 -H "Authorization: Bearer $token" "$url$1"; }
code() { curl -s -m 60 -o /dev/null -w '%{http_code}' "$@"; } # the answer's status alone
is() { tap_check "$1" "$([ "$3" = "$2" ] || echo "$3 instead of $2")"; } # NAME WANTED GIVEN
serve only
run=$(get '/api/runs?sweep=study&limit=1' | tool json run 0 run)

# ---- access control
is "the address that is printed opens the page" 200 "$(code "$(tool json url <only.json)")"
is "without a token: 403" 403 "$(code "$url/")"
is "with a wrong token: 403" 403 "$(code "$url/?token=${token%?}x")"
is "with a longer token: 403" 403 "$(code "$url/api/status?token=${token}0")"
is "with an empty one: 403" 403 "$(code -H 'Authorization: Bearer ' "$url/api/status?token=")"
is "in a header it is as good" 200 "$(code -H "Authorization: Bearer $token" "$url/api/status")"
is "a name that leads here is no name of ours: 403" 403 "$(code -H "Host: evil.example:$port" "$url/?token=$token")"
is "ssh may forward another port" 200 "$(code -H 'Host: localhost:9999' "$url/?token=$token")"
tap_check "it listens on the loopback alone" "$(ss -ltnH "sport = :$port" 2>/dev/null | grep -v '127.0.0.1:')"
headers=$(curl -s -D - -o page.html "$url/?token=$token")
tap_check "the page may load nothing from elsewhere" "$(grep -qi "content-security-policy: default-src 'none'" <<<"$headers" || echo "$headers")"
tap_check "nor does it name anything" "$(grep -oE '(src|href)="?(https?:)?//[^" ]*' page.html)"
tap_check "no address is handed on" "$(grep -qi 'referrer-policy: no-referrer' <<<"$headers" || echo "$headers")"

# ---- paths and arguments
for path in /../../etc/passwd /%2e%2e/%2e%2e/etc/passwd //etc/passwd /api/../../etc/passwd /api/ /api /runs/ab; do
  is "nothing lies at $path" 404 "$(code --path-as-is -H "Authorization: Bearer $token" "$url$path")"
done
for argument in 'run=../../etc' 'run=/etc/passwd' 'run=..%2f..%2fetc%2fpasswd' 'run=0123' "run=$run%2f.." 'run='; do
  is "no run is $argument" 400 "$(code -H "Authorization: Bearer $token" "$url/api/log?$argument")"
done
is "a run that there is not" 404 "$(code -H "Authorization: Bearer $token" "$url/api/log?run=0123456789abcdef")"
is "a sweep that there is not" 404 "$(code -H "Authorization: Bearer $token" "$url/api/runs?sweep=../study")"
is "a video is a number" 400 "$(code -H "Authorization: Bearer $token" "$url/api/video?run=$run&iteration=..%2f..%2flog.txt")"
is "a column is one of ours, no SQL" 400 "$(code -H "Authorization: Bearer $token" "$url/api/curves?run=$run&column=kl%20FROM%20run--")"
is "numbers have bounds" 400 "$(code -H "Authorization: Bearer $token" "$url/api/runs?sweep=study&limit=1000000")"
folder=$SWEEP_ROOT/runs/${run:0:2}/$run
ln -s /etc/passwd "$folder/video.77.gif"; mkfifo "$folder/video.78.gif"
is "a link in a run's folder is not followed" 503 "$(code -H "Authorization: Bearer $token" "$url/api/video?run=$run&iteration=77")"
is "nor is a pipe read" 503 "$(code -H "Authorization: Bearer $token" "$url/api/video?run=$run&iteration=78")"
rm -f "$folder"/video.7?.gif
mv "$folder/log.txt" kept; ln -s /etc/passwd "$folder/log.txt"
tap_check "nor is a log that is a link" "$(get "/api/log?run=$run" | grep root:)"
rm "$folder/log.txt"; mv kept "$folder/log.txt"

# ---- read-only
for path in stop retry; do
  is "POST $path without --control: 403" 403 "$(code -X POST -H "Authorization: Bearer $token" "$url/api/$path?sweep=study")"
done
save() { code -X POST -H "Authorization: Bearer $token" "${@:2}" --get --data-urlencode "name=$1" --data-urlencode 'address=study&metrics=kl' "$url/api/views"; }
is "a view is saved" 200 "$(save 'late <b>KL</b>')"
is "and kept in the workspace" "study&metrics=kl" "$(tool json 'late <b>KL</b>' <"$SWEEP_ROOT/annotations/views.json")"
is "not from another site's page" 403 "$(save other -H 'Origin: http://evil.example')"
is "nor with the token in the address alone" 403 "$(code -X POST "$url/api/views?name=x&address=study&token=$token")"
is "what is no address is refused" 400 "$(code -X POST -H "Authorization: Bearer $token" "$url/api/views?name=x&address=%3Cscript%3E")"
views=$SWEEP_ROOT/annotations/views.json; mv "$views" kept
for file in '{' '[]' '{"a": 1, "b": "<script>"}'; do
  echo "$file" >"$views"
  is "a file of views that others have written ($file) is no danger" "[]" "$(get /api/views | tool json view)"
done
rm "$views"; mkfifo "$views"
is "nor is a pipe read" "[]" "$(get /api/views | tool json view)"
mv -f kept "$views"
is "a view is removed" 200 "$(code -X POST -H "Authorization: Bearer $token" --get --data-urlencode 'name=late <b>KL</b>' "$url/api/views")"
is "so it is gone" "[]" "$(get /api/views | tool json view)"
is "other methods: 405" 405 "$(code -X DELETE -H "Authorization: Bearer $token" "$url/api/status")"
is "a body is not taken" 413 "$(head -c 2000000 /dev/zero | code -X POST -H "Authorization: Bearer $token" --data-binary @- "$url/api/stop?sweep=study")"

# ---- clients that mean harm, or nothing
exec 7<>"/dev/tcp/127.0.0.1/$port"; printf 'GET /?token=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n' "$token" >&7 # never ends its headers
exec 8<>"/dev/tcp/127.0.0.1/$port" # never reads
for _ in $(seq 200); do printf 'GET /?token=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' "$token"; done >&8 2>/dev/null & writer=$!
is "clients that never read or never end hold up nobody" 200 "$(code "$url/?token=$token")"
is "huge headers are refused" 431 "$(code -H "X-Much: $(head -c 60000 /dev/zero | tr '\0' x)" "$url/?token=$token")"
is "so are huge addresses" 414 "$(code "$url/?token=$token&x=$(head -c 40000 /dev/zero | tr '\0' x)")"
printf 'nonsense\r\n\r\n' >"/dev/tcp/127.0.0.1/$port"; head -c 4000 /dev/urandom >"/dev/tcp/127.0.0.1/$port" 2>/dev/null
codes=$(curl -s -Z --parallel-max 100 -m 120 -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer $token" "$url/api/status?n=[1-100]" | sort | uniq -c | tr -s ' ')
is "a hundred requests at once are answered" " 100 200" "$codes"
etag=$(curl -s -D - -o /dev/null -H "Authorization: Bearer $token" "$url/api/columns" | tr -d '\r' | sed -n 's/^[Ee][Tt]ag: //p')
is "who has it already gets nothing again" 304 "$(code -H "Authorization: Bearer $token" -H "If-None-Match: $etag" "$url/api/columns")"

# ---- every argument counts, and connections of strangers leave room
order() { get "/api/runs?sweep=study&$1" | tool json run | tr -d ' \n'; }
first=$(order 'sort=index&descending=0&limit=1'); last=$(order 'sort=index&descending=1&limit=1')
tap_check "a response for one direction of sorting is not that of the other" "$([ "$first" != "$last" ] || echo "$first")"
is "and the first one comes again" "$first" "$(order 'sort=index&descending=0&limit=1')"
order 'sort=index&limit=1%0Adescending=1' > /dev/null
is "an argument cannot pose as two" "$first" "$(order 'sort=index&descending=0&limit=1')"
strangers=()
for ((i = 0; i < 420; i++)); do
  exec {fd}<> "/dev/tcp/127.0.0.1/$port" 2> /dev/null || break
  printf 'GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-' >&$fd 2> /dev/null; strangers+=($fd)
done
while sleep 2; do for fd in "${strangers[@]}"; do printf x >&$fd; done; done 2> /dev/null & trickle=$!
is "420 unfinished requests of strangers leave room for ours" 200 "$(code -H "Authorization: Bearer $token" "$url/api/status")"
kill $trickle; wait $trickle 2> /dev/null
for fd in "${strangers[@]}"; do exec {fd}>&-; done 2> /dev/null

# ---- the data
get /api/status >served; sweep status --json >printed
tap_check "the served data agree with sweep status" "$(diff <(tool json <served) <(tool json <printed))"
get '/api/status?offset=1&limit=2' >part
is "it comes in parts, too" "1 1 0 $(tool json 0 run 1 run <printed) $(tool json 1 run 0 run <printed)" \
  "$(for i in 0 1 2; do tool json $i run <part | grep -o '"index":' | wc -l; done | xargs) $(tool json 0 run 0 run <part) $(tool json 1 run 0 run <part)"
tap_check "of one sweep too" "$(diff <(get '/api/status?sweep=study' | tool json) <(sweep status study --json | tool json))"
for path in overview status columns 'runs?sweep=study' 'scatter?sweep=study' "run?run=$run" "log?run=$run" "curves?run=$run&column=kl" "curves?run=$run" 'curves?sweep=study' 'columns?sweep=study' 'search?sweep=tune' 'colors?sweep=study&key=ppo.epsilon' "resources?run=$run" views actions; do
  tap_check "/api/$path is JSON" "$(get "/api/$path" | tool json 2>&1 >/dev/null)"
done
is "the overview counts as status does" "$(tool json 0 count failed <printed)" "$(get /api/overview | tool json sweep 0 count failed)"
is "reasons of failures are there" "exit code 1" "$(get /api/overview | tool json sweep 0 failures 0 reason)"
is "a filter finds runs by their settings" 2 "$(get '/api/runs?sweep=study&text=epsilon%3D0.2%20finished' | tool json matching)"
is "and by status" 0 "$(get '/api/runs?sweep=study&status=failed' | tool json matching)"
is "runs are sorted" 3 "$(get '/api/runs?sweep=study&sort=index&descending=1' | tool json run 0 index)"
is "DDR is that of results.db" "$(analyze sql "$SWEEP_ROOT/results.db" --csv "SELECT printf('%.6g', ddr) FROM run_ddr WHERE run_id = '$run'" | tail -1)" \
  "$(printf '%.6g' "$(get "/api/run?run=$run" | tool json ddr)")"
is "a curve's last point is the last iteration's KL" "$(analyze sql "$SWEEP_ROOT/results.db" --csv "SELECT printf('%.6g', kl) FROM iteration WHERE run_id = '$run' ORDER BY iteration DESC LIMIT 1" | tail -1)" \
  "$(get "/api/curves?run=$run&column=kl" | tool json curve 0 y | tr -d '[]' | tr , '\n' | tail -1 | xargs printf '%.6g')"
is "a long curve is thinned" 3 "$(get "/api/curves?run=$run&column=kl&points=3" | tool json curve 0 y | tr , '\n' | wc -l)"
is "a part of a curve ends where it was asked to" "256 512" "$(get '/api/curves?sweep=study&column=kl&from=256&to=512' | tool json grid | tr -d '[] ' | tr , '\n' | sed -n '1p;$p' | xargs printf '%g %g')"
is "two equal ends are no part" 400 "$(code -H "Authorization: Bearer $token" "$url/api/curves?sweep=study&from=5&to=5")"
is "nor are words" 400 "$(code -H "Authorization: Bearer $token" "$url/api/curves?sweep=study&from=a&to=nan")"
is "a search's goal is marked" "goal: true goal: false" "$(for name in kl entropy; do get '/api/columns?sweep=tune' | grep -oE "\"name\": \"$name\"[^}]*" | grep -oE '"goal": [a-z]+' | tr -d '"'; done | xargs)"
is "a setting has the colors of its lines" "$(get '/api/curves?sweep=study&group=ppo.epsilon' | tool json group 1 color)" "$(get '/api/colors?sweep=study&key=ppo.epsilon' | tool json 1 1)"
is "a run of this machine has asked Slurm for nothing" false "$(get "/api/resources?run=$run" | tool json asked slurm)"
last() { tr -d '[] ' | tr , '\n' | tail -1; }
analyze curves "$SWEEP_ROOT/results.db" --sweep study --y kl --group none --json -o "$tap_dir/figures" >curves.json 2>/dev/null
get '/api/curves?sweep=study&column=kl&group=none' >group.json
is "a group's mean and interval are those of analyze curves" \
  "$(for key in mean low high runs; do tool json configurations 0 $key <curves.json | xargs printf '%.5g '; done)" \
  "$(for key in mean low high n; do tool json curve 0 $key <group.json | last | xargs printf '%.5g '; done)"
get '/api/curves?sweep=study&column=kl&runs=1&points=3' >groups.json
is "a line is a setting, named by what differs" "eps 0.1, eps 0.2" "$(tool json group 0 label <groups.json), $(tool json group 1 label <groups.json)"
is "of two runs there is a mean, and no interval" "null null" "$(tool json curve 0 low <groups.json | last) $(tool json curve 1 high <groups.json | last)"
is "each run has its line, too" 4 "$(tool json line <groups.json | grep -o '"run"' | wc -l)"
is "a line of many points is thinned" 3 "$(tool json curve 0 mean <groups.json | tr , '\n' | wc -l)"
is "a setting that is none groups nothing" 400 "$(code -H "Authorization: Bearer $token" "$url/api/curves?sweep=study&group=ppo.epsilo")"
is "nor is an axis called z" 400 "$(code -H "Authorization: Bearer $token" "$url/api/curves?sweep=study&log=z")"
is "a metric that no program has is none" 400 "$(code -H "Authorization: Bearer $token" "$url/api/curves?sweep=study&column=metric.x%27%20OR%201")"
is "a sweep without a search has none" 404 "$(code -H "Authorization: Bearer $token" "$url/api/search?sweep=study")"
get '/api/search?sweep=tune' >search.json
analyze search "$SWEEP_ROOT/results.db" --sweep tune --json -o "$tap_dir/figures" >found.json 2>/dev/null
is "trials stand in the order of analyze search" "$(for i in 0 4 9; do tool json trials $i trial <found.json; tool json trials $i value <found.json | xargs printf '%.6g\n'; done)" \
  "$(for i in 0 4 9; do tool json trial $i trial <search.json; tool json trial $i value <search.json | xargs printf '%.6g\n'; done)"
is "settings have its importance" "$(tool json importance ppo.learning_rate <found.json | cut -c1-6)" \
  "$(for i in 0 1; do [ "$(tool json axis $i name <search.json)" != ppo.learning_rate ] || tool json axis $i importance <search.json | cut -c1-6; done)"
is "of many runs some have a dot" "$(get '/api/scatter?sweep=study' | tool json point | grep -oE '"run":"[0-9a-f]+' | cut -d'"' -f4 | sort | head -2 | tr '\n' ' ')" \
  "$(get '/api/scatter?sweep=study&limit=2' | tool json point | grep -oE '"run":"[0-9a-f]+' | cut -d'"' -f4 | sort | tr '\n' ' ')"
names=$(get /api/columns)
tap_check "curves include COM and epsilon, which may change" "$(for name in com epsilon kl score; do grep -q "\"$name\"" <<<"$names" || echo "$name"; done)"
get '/api/runs?sweep=study&sort=ppo.epsilon&descending=1' >sorted
is "a setting sorts" "0.2 0.1" "$(printf '%.3g %.3g' "$(tool json run 0 settings ppo.epsilon <sorted)" "$(tool json run 3 settings ppo.epsilon <sorted)")"
is "so does any column" "200 200 200" "$(for key in run tags reason; do code -H "Authorization: Bearer $token" "$url/api/runs?sweep=study&sort=$key"; echo; done | xargs)"
is "text in its order" "$(get '/api/runs?sweep=study&limit=9' | tool json run | grep -oE '"run":"[0-9a-f]+' | sort | head -1)" \
  "$(get '/api/runs?sweep=study&sort=run&limit=1' | tool json run | grep -oE '"run":"[0-9a-f]+')"
is "what is not a setting does not" 400 "$(code -H "Authorization: Bearer $token" "$url/api/runs?sweep=study&sort=ppo.epsilo")"
is "the log is the run's" "$(cat "$folder/log.txt")" "$(get "/api/log?run=$run" | tool json text)"
if [ -n "$video" ]; then
  is "an evaluation was filmed before training and at the end" "[0,8]" "$(get "/api/run?run=$run" | tool json videos | tr -d ' ')"
  tap_check "a video is a GIF with frames" "$(get "/api/video?run=$run&iteration=8" >v.gif; [ "$(head -c 3 v.gif)" = GIF ] && [ "$(wc -c <v.gif)" -gt 5000 ] || ls -l v.gif)"
  settings silent 1024 "" >silent.ini; printf '[grid all]\nppo.epsilon = 0.1, 0.2\n' >>silent.ini
  mkdir other; sweep submit silent.ini --root "$tap_dir/other" --local --wait --jobs 2 >/dev/null 2>&1
  tap_check "a film changes no run" "$(diff <(cut -f1-8 "$folder/stats.1.tsv" | grep -v '^#') <(cut -f1-8 "$tap_dir/other/runs/${run:0:2}/$run/stats.1.tsv" | grep -v '^#'))"
  tap_run "the report has the videos" 0 index.html analyze report "$SWEEP_ROOT/results.db" --no-figures -o "$tap_dir/report"
  tap_check "inside itself" "$(grep -q 'data:image/gif;base64,' "$tap_dir/report/index.html" || echo none)"
else
  tap_skip "videos" "no libgd"
fi

# ---- notes and tags, and effects of a rule
ruled=$(get '/api/runs?sweep=study&limit=9' | tool json run 1 run); state=$SWEEP_ROOT/runs/${ruled:0:2}/$ruled/state
cp "$state" kept
sed -i '/^crc32=/d; s/^status=.*/status=stopped by rule/; /^message=/d' "$state"; echo 'message=asha: at rung 0' >>"$state"
{ sweep annotate study --tag paper; sweep annotate study/2 --tag good; sweep annotate study/2 --note "with <b>markup</b>"; sweep annotate study --pin 2; } >/dev/null
is_ruled() { [ "$(get /api/overview | tool json sweep 1 count 'stopped by rule')" = 1 ]; }
tap_wait 60 is_ruled; tap_result "a run that its rule has stopped is counted so" $?
is "it is found by that" "asha: at rung 0" "$(get '/api/runs?sweep=study&status=stopped%20by%20rule' | tool json run 0 reason)"
is "and needs no attention" 0 "$(get '/api/runs?sweep=study&status=needs%20attention' | tool json matching)"
is "a sweep has its tags" '["paper"]' "$(get /api/overview | tool json sweep 1 tags)"
is "its runs' tags are there to choose from" '["good"]' "$(get /api/overview | tool json sweep 1 run_tags)"
is "a tag leaves the runs that have it" "1 2" "$(get '/api/runs?sweep=study&tag=good' >tagged; echo "$(tool json matching <tagged) $(tool json run 0 index <tagged)")"
is "a sweep's is all its runs'" 4 "$(get '/api/runs?sweep=study&tag=paper' | tool json matching)"
is "a run has its note" "with <b>markup</b>" "$(tool json run 0 note <tagged)"
is "and is found by its words" 1 "$(get '/api/runs?sweep=study&text=markup%20good' | tool json matching)"
is "the pinned run is told" true "$(tool json run 0 pinned <tagged)"
is "and found" 1 "$(get '/api/runs?sweep=study&text=pinned' | tool json matching)"
cp kept "$state"

# ---- imports: neither side waits for the other
settings later 1024 "" >later.ini; sed -i 's/^seeds.*/seeds = 1/; s/^num = 8/num = 16/' later.ini
(n=0; while [ ! -e enough ]; do n=$((n + 1)); curl -s -Z --no-progress-meter -m 60 -o /dev/null -H "Authorization: Bearer $token" "$url/api/curves?run=$run&column=kl&points=[2-41]&n=$n"; done) & busy=$!
sweep submit later.ini --local --wait >/dev/null 2>&1
tap_run "results are imported while clients keep requesting" 0 "" sweep collect
later=$(sed -n 3p "$SWEEP_ROOT/sweeps/later/manifest.tsv" | cut -f2)
is "all of them" 4 "$(analyze sql "$SWEEP_ROOT/results.db" --csv "SELECT count(*) FROM iteration WHERE run_id = '$later'" | tail -1)"
touch enough; wait $busy
: >locked; tool lock "$SWEEP_ROOT/results.db" 60 < <(tap_wait 60 test -e answered) >locked 2>&1 & locker=$!
tap_wait 30 grep -q locked locked
is "while another process writes, the page is answered" 200 "$(code -H "Authorization: Bearer $token" "$url/api/overview")"
is "so are the lists of runs" 200 "$(code -H "Authorization: Bearer $token" "$url/api/runs?sweep=study&limit=3")"
touch answered; wait $locker
sweep rm later --yes >/dev/null 2>&1

# ---- a first import, a rebuild and no results.db at all
rm -f "$SWEEP_ROOT"/results.db*
is "without results.db there are no curves, and no error" 200 "$(code -H "Authorization: Bearer $token" "$url/api/curves?run=$run&column=entropy")"
sweep collect --rebuild >/dev/null
has_curve() { [ "$(get "/api/curves?run=$run&column=kl" | tool json curve 0 y 2>/dev/null | wc -c)" -gt 5 ]; }
tap_wait 60 has_curve; tap_result "a recreated database is found" $?

# ---- the end: with a client that waits, at once
cat <&7 >/dev/null; tap_result "a client that never ends its headers is closed" 0
kill $writer 2>/dev/null
kill -TERM $pid; wait $pid; is "SIGTERM ends it well" 0 $?
tap_check "it printed nothing" "$(cat only.err)"
exec 7>&- 8>&-

# ---- a slow request delays no other, and no request delays the end: a lock keeps all readers of results.db out
cp -r "$SWEEP_ROOT" waiting; tool sql waiting/results.db 'PRAGMA journal_mode = DELETE' >/dev/null
: >locked; tool lock waiting/results.db 120 < <(tap_wait 120 test -e unlocked) >locked 2>&1 & locker=$!
tap_wait 30 grep -q locked locked
ends_soon() { # NAME: SIGTERM ends the server well, 0.7 s later at most; 2 s on a busy machine
  local from code; from=$(date +%s%N); kill -TERM $pid; wait $pid; code=$?
  tap_check "$1" "$([ $code = 0 ] && [ $(($(date +%s%N) - from)) -lt 2000000000 ] || echo "code $code after $((($(date +%s%N) - from) / 1000000)) ms")"
}
sweep serve --root waiting --port 0 --json >early.json 2>&1 & pid=$!
sleep 1; ends_soon "it ends also while it starts, and reads results.db"
serve waiting --root "$tap_dir/waiting"
for _ in 1 2 3; do get "/api/curves?sweep=study&column=kl&n=$_" >slow.$_ & slow[_]=$!; done
sleep 0.5
for path in overview 'status?sweep=study' 'runs?sweep=study' "log?run=$run"; do
  is "while curves wait for results.db, /api/$path comes" 200 "$(code -m 3 -H "Authorization: Bearer $token" "$url/api/$path")"
done
tap_check "the curves do wait" "$(for _ in 1 2 3; do kill -0 "${slow[_]}" || echo "$_ has ended"; done 2>&1)"
ends_soon "requests that wait do not delay the end"
touch unlocked; wait $locker; wait "${slow[@]}"

# ---- control
serve control --control
post() { curl -s -m 60 -X POST -H "Authorization: Bearer $token" "$@"; }
is "POST with the token in the address alone: 403" 403 "$(code -X POST "$url/api/retry?sweep=broken&token=$token")"
is "POST from another site's page: 403" 403 "$(code -X POST -H "Authorization: Bearer $token" -H 'Origin: http://evil.example' "$url/api/retry?sweep=broken")"
is "or one of another port: 403" 403 "$(code -X POST -H "Authorization: Bearer $token" -H "Origin: http://127.0.0.1:1" "$url/api/retry?sweep=broken")"
is "or one that the browser calls foreign: 403" 403 "$(code -X POST -H "Authorization: Bearer $token" -H 'Sec-Fetch-Site: cross-site' "$url/api/retry?sweep=broken")"
is "what there is not cannot be stopped" 404 "$(code -X POST -H "Authorization: Bearer $token" "$url/api/stop?sweep=--help")"
is "an own page's POST is taken" 202 "$(code -X POST -H "Authorization: Bearer $token" -H "Origin: $url" -H 'Sec-Fetch-Site: same-origin' "$url/api/retry?sweep=broken")"
finished() { [ "$(get "/api/status?sweep=broken" | tool json 0 count finished)" = 2 ]; }
tap_wait 120 finished; tap_result "retry lets failed runs go on, on this machine" $? "$(get /api/actions)"
sweep submit long.ini --local --jobs 1 >/dev/null 2>&1
running() { [ "$(get "/api/status?sweep=long" | tool json 0 count running 2>/dev/null)" = 1 ]; }
tap_wait 120 running; tap_result "a run is seen to run" $?
post "$url/api/stop?sweep=long" >/dev/null
stopped() { [ "$(sweep status long --json | tool json 0 count stopped)" -ge 1 ] && [ "$(sweep status long --json | tool json 0 count running)" = 0 ]; }
tap_wait 120 stopped; tap_result "stop ends it with a checkpoint" $? "$(get /api/actions)"
done_() { [ "$(get /api/actions | tool json 0 state)" = "done" ]; }
tap_wait 60 done_; tap_result "actions are listed" $? "$(get /api/actions)"
kill -TERM $pid; wait $pid

# ---- which sweep the page opens
if command -v node >/dev/null; then
  sed -n '/^function sweepToOpen/,/^}/p' "$top/sweep/serve/main.js" >open.js
  cat >>open.js <<'END'
const idle = {name: "a", count: {finished: 3}}, waits = {name: "b", count: {pending: 6}, busy: true};
const trains = {name: "c", count: {pending: 1, running: 2}, busy: true};
const queued = {name: "d", condition_count: {queued: 9}, count: {running: 9}, busy: true};
const most = {name: "e", condition_count: {running: 3}, count: {}, busy: true};
const open = (sweeps, wanted) => (sweepToOpen(sweeps, wanted) || {name: "-"}).name;
console.log(open([idle, waits, trains, queued], ""), open([idle, waits, trains, queued, most], ""), open([idle, waits], ""), open([idle], ""), open([], ""), open([idle, trains], "a"));
END
  is "the page opens on the sweep of which most runs train" "c e b a - a" "$(node open.js 2>&1)"
else
  tap_skip "the page opens on the sweep of which most runs train" "no node"
fi

# ---- a token that stays
serve kept --token-file "$tap_dir/token"
is "a token file is its owner's alone" 600 "$(stat -c %a token)"
is "and holds the token" "$token" "$(cat token)"
kill -TERM $pid; wait $pid
chmod 644 token
tap_run "one that others may read is refused" 2 "chmod 600" sweep serve --port 0 --token-file token
printf 'short\n' >bad; chmod 600 bad
tap_run "so is one that is no token" 2 "is not a token" sweep serve --port 0 --token-file bad
serve second; tap_run "a port that is in use is named" 1 "port $port is in use" sweep serve --port "$port"

kill -TERM $pid; wait $pid
tap_done
