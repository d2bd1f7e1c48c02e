#!/usr/bin/env bash
# Text of other people reaches no terminal and no picture with characters that a terminal obeys, that reorder or hide
# text: in states, annotations, run logs, results.db and logs. TAP.
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
cd "$tap_dir" || exit 1
export LC_ALL=C.UTF-8

# ESC, U+009B, U+202E, U+2066, U+200F, U+061C, U+2028, byte order mark, a tag, U+200B, DEL, a raw byte
hostile=$'M\x1b[31m\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c\xe2\x80\xa8\xef\xbb\xbf\xf3\xa0\x81\x81\xe2\x80\x8b\x7f'
kept=$'Größe 損失 नमस्ते e\xcc\x81 👩‍🔬 می‌خواهم'
pattern=$'[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xd8\x9c|\xef\xbb\xbf|\xf3\xa0[\x80\x81]'
unsafe() { LC_ALL=C grep -aPn "$pattern" "$@" | cut -c1-200 | cat -v; } # FILE...

printf 'echo "{\\"step\\": 1, \\"reward\\": 1, \\"kl\\": 1}" >> "$SWEEP_METRICS"\necho "{\\"step\\": 1, \\"eval\\": \\"train\\", \\"return\\": 1}" >> "$SWEEP_METRICS"\nprintf "%%s\\n" "$1"; printf "%%s\\n" "$1" >&2; exit 1\n' > p.sh
printf '[sweep]\nname = mine\nseeds = 2\ngoal = max reward\n[program]\ncommand = sh p.sh {text}\n[settings]\ntext = "a"\n' > mine.ini
timeout 60 sweep submit mine.ini --root w --wait --trust > said 2>&1
sweep annotate mine --tag good --root w > /dev/null; sweep annotate mine --note word --root w > /dev/null; sweep annotate mine/0 --note word --root w > /dev/null
run=$(sed -n 3p w/sweeps/mine/manifest.tsv | cut -f2); run=${run:-$(tail -1 w/sweeps/mine/manifest.tsv | cut -f2)}
for state in w/runs/*/*/state; do
  sed -E "s/^(message|host|device|commit|parent|code|code_files)=.*/\1=$hostile $kept/; /^crc32=/d" "$state" > made && mv made "$state"
done
for file in w/runs/*/*/attempts.tsv; do
  { grep '^#' "$file"; grep -v '^#' "$file" | sed -E 's/\t[0-9a-f]{8}$//' |
    awk -F '\t' -v OFS='\t' -v t="$hostile" '{ $3 = $5 = $6 = $10 = t; print }' | tool crc; } > made && mv made "$file"
done
for file in w/annotations/*.json; do sed -i "s/word/$(sed 's/[\x01-\x1f\x7f]/\\\\u00&/g' <<<"${hostile//$'\x1b'/\\\\u001b}" | tr -d '\177')$kept/" "$file"; done
for log in w/runs/*/*/log.txt; do printf '%s\r\nbar 1\rbar 2\r%s\n' "$hostile" "$kept" >> "$log"; done

i=0
look() { # COMMAND...: its output goes to a file
  i=$((i + 1))
  { (LC_ALL=C; printf '# %q\n' "$*"); timeout 60 "$@" 2>&1 < /dev/null; } > "o.$i"
}
for command in "status" "status mine" "status mine --runs" "status mine --failed" "status --json" "collect" "collect --rebuild" \
  "status mine --cost" "annotate mine" "annotate mine/0" "plan mine" \
  "rm mine --dry-run" "rm mine --checkpoints --dry-run" "doctor" "check mine"; do look sweep $command --root w; done
tap_check "states and annotations" "$(unsafe o.*)"
tap_check "letters of all alphabets, marks and emoji stay" "$(grep -qF "$kept" o.2 || cat o.2)"
timeout 60 sweep submit mine.ini --root w --wait > o.wait 2>&1
tap_check "submit --wait" "$(unsafe o.wait)"

# ---- on a terminal, a log
if command -v script > /dev/null; then
  script -qec "sweep logs $run --root w" /dev/null < /dev/null 2>&1 | tr -d '\r' > o.log
  tap_check "sweep logs on a terminal" "$(unsafe o.log; grep -qF "$kept" o.log || { echo "no $kept in"; cat o.log; })"
  tap_check "a progress bar's states are lines" "$(grep -qx 'bar 2' o.log || cat -v o.log)"
else tap_skip "sweep logs on a terminal" "no script"; fi
sweep logs "$run" --root w > bytes
tap_check "a pipe gets the log's bytes" "$(tail -4 "w/runs/${run:0:2}/$run/log.txt" | cmp - <(tail -4 bytes) 2>&1)"

# ---- long lines, counted from the end
for n in 1 2 3 4 5 6 7; do head -c 1000000 /dev/zero | tr '\0' "$n"; echo; done >> "w/runs/${run:0:2}/$run/log.txt"
tap_check "the last lines of a log with long lines" "$(for n in 0 1 3 7; do
  sweep logs "$run" --root w --lines $n | cut -c1 | tr -d '\n' | grep -qx "$(tail -n $n <<<$'1\n2\n3\n4\n5\n6\n7' | tr -d '\n')" || [ $n = 0 ] || echo "$n"; done)"

# ---- texts in results.db
sweep collect --root w > /dev/null 2>&1
quoted=$(sed "s/'/''/g" <<<"$hostile")
tool sql w/results.db "UPDATE run SET message = '$quoted', host = '$quoted', device = '$quoted', git_commit = '$quoted', code = '$quoted', config = replace(config, '\"a\"', '\"a$kept\"');
  UPDATE attempt SET message = '$quoted', host = '$quoted';
  UPDATE OR IGNORE evaluation SET level_set = '$quoted';
  UPDATE OR IGNORE metric SET name = '$quoted' WHERE name = 'reward';
  UPDATE OR IGNORE annotation SET value = '$quoted';
  UPDATE sweep SET name = '$quoted'; UPDATE sweep_run SET sweep = '$quoted'" > /dev/null
cp w/results.db copy.db; rm -f o.*; i=0
for command in "table copy.db" "curves copy.db --y metric.kl -o curves" "check copy.db" "report copy.db -o report" "compare copy.db seed=0 seed=1" \
  "measures copy.db --measure best" "settings copy.db --x seed" "codes copy.db" "advise copy.db" "table copy.db --json" "merge copy.db -o merged.db" \
  "watch copy.db --once" "export csv copy.db -o csv"; do look analyze $command; done
look analyze sql copy.db 'SELECT * FROM run_summary'
look analyze sql copy.db 'SELECT * FROM metric' --csv
look analyze sql copy.db 'SELECT * FROM evaluation'
tap_check "results.db" "$(unsafe o.*)"
tap_check "pictures" "$(find curves report -name '*.svg' -o -name '*.gp' -o -name '*.html' 2> /dev/null | while read -r f; do
  [ "${f##*.}" = html ] || unsafe "$f"; done)"

# ---- names of directories and files
odd=$'d\x1b[31m\xe2\x80\xae\x7f' # valid UTF-8
rm -rf o.* "$odd"; i=0; mkdir "$odd"; cp mine.ini p.sh "$odd"
timeout 60 sweep submit "$odd/mine.ini" --root "$odd/refused" --wait --trust > o.submit 2>&1
timeout 60 sweep submit mine.ini --root plain --wait --trust > /dev/null 2>&1; sweep collect --root plain > /dev/null 2>&1; mv plain "$odd/w"
look sweep status --root "$odd"
mkdir "$odd/empty"; look sweep status --root "$odd/empty"
for command in "status" "status --runs" "collect" "collect --rebuild" "plan mine" "doctor" "bundle mine -o $odd/b.zst" \
  "status mine --cost" "rm mine --dry-run" "rm mine --checkpoints --dry-run" "annotate mine --tag x" "stop" "hold mine"; do look sweep $command --root "$odd/w"; done
look sweep plan "$odd/mine.ini" --root "$odd/w"; look sweep plan "$odd/mine.ini" --root "$odd/none"
look sweep submit "$odd/mine.ini" --root "$odd/made" --no-start
look sweep unbundle "$odd/b.zst" "$odd/u"
for command in "table" "curves -o $odd/c" "report -o $odd/r" "check" "check --repair" "export csv -o $odd/e" "export tensorboard -o $odd/t" "merge -o $odd/m.db" "measures"; do
  look analyze $command "$odd/w/results.db"
done
look analyze table "$odd/w/results.db" -o "$odd/t.csv"; look analyze table "$odd"; look analyze sql "$odd/none.db" 'SELECT 1'
tap_check "names of directories and files" "$(unsafe o.*)"
tap_check "the commands have done their work" "$(ls "$odd/b.zst" "$odd/u/results.db" "$odd/m.db" "$odd/e" "$odd/t" "$odd/r" "$odd/c" 2>&1 > /dev/null)"
tap_done
