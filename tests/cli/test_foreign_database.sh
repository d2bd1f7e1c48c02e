#!/usr/bin/env bash
# A results.db of other people: nothing in it or next to it deletes files, runs, or keeps a command from ending. TAP.
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
cd "$tap_dir" || exit 1
printf '[sweep]\nname = mine\nseeds = 1\n[program]\ncommand = sh -c "echo {{}}"\n' > mine.ini
timeout 60 sweep submit mine.ini --root made --wait --trust > said 2>&1 || cat said
sweep collect --root made > said
tool sql made/results.db 'PRAGMA journal_mode = DELETE'
fresh() { rm -rf w; cp -r made w; }

be32() { printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)); }
journal() { # DATABASE TARGET: a hot journal that names a super-journal
  local name=$2 magic='\xd9\xd5\x05\xf9\x20\xa1\x63\xd7' sum=0 i
  for ((i = 0; i < ${#name}; i++)); do sum=$((sum + $(printf %d "'${name:i:1}"))); done
  { printf "$magic$(be32 0)$(be32 1)$(be32 $(($(stat -c %s "$1") / 8192)))$(be32 512)$(be32 8192)"
    head -c 484 /dev/zero
    printf "$(be32 131073)%s$(be32 ${#name})$(be32 $sum)$magic" "$name"; } > "$1-journal"
}

# Commands that read the database
commands=("sweep status" "sweep status mine --runs" "sweep status --json" "sweep plan mine" "sweep collect" "sweep collect --rebuild"
  "sweep bundle mine -o b.tar.zst" "sweep annotate mine --tag x" "sweep submit mine --failed --dry-run" "sweep rm mine --dry-run" "sweep status mine --cost"
  "analyze table" "analyze check" "analyze check --repair" "analyze report -o o" "analyze curves -o o" "analyze table --runs"
  "analyze export csv -o o" "analyze export parquet -o o" "analyze merge -o m.db" "analyze sql")
for_each() { # CHECK: runs each command on a fresh copy that `spoil` has changed, then CHECK
  local command bad=''
  for command in "${commands[@]}"; do
    fresh; rm -rf o m.db b.tar.zst; spoil
    case $command in
      "analyze sql") timeout 20 analyze sql w/results.db 'SELECT * FROM run, run_ddr, setting' ;;
      analyze*) timeout 20 $command w/results.db ;;
      *) timeout 20 $command --root w ;;
    esac > done 2>&1 < /dev/null
    [ $? -ne 124 ] || bad+="$command does not end"$'\n'
    "$1" || bad+="$command: $(tail -1 done)"$'\n'
  done
  printf %s "$bad"
}

# ---- a journal that names another file, which SQLite would delete
spoil() { echo thesis > thesis.tex; journal w/results.db "$PWD/thesis.tex"; }
fresh; spoil
if tool sql w/results.db 'SELECT count(*) FROM run' > /dev/null 2>&1 && [ ! -e thesis.tex ]; then
  tap_result "SQLite itself deletes the named file" 0
else tap_result "SQLite itself deletes the named file" 1 "the journal of this test is not hot"; fi
kept() { [ -e thesis.tex ]; }
tap_check "no command deletes the file that a journal names" "$(for_each kept)"
spoil() { echo thesis > thesis.tex; journal w/results.db "$PWD/w/../thesis.tex"; mv w/results.db* w/runs; ln -s runs/results.db w/results.db; }
tap_check "nor one next to a linked database" "$(for_each kept)"
fresh; echo thesis > thesis.tex; journal w/results.db "$PWD/thesis.tex"
tap_run "the message names the journal and a way out" 1 "results.db-journal was not written by sweep" sweep collect --root w
tap_run "status says it, too" 0 "sweep collect --rebuild" sweep status --root w
tap_run "which works" 0 "rows from 1 run" sweep collect --rebuild --root w
tap_check "and leaves no such journal" "$(ls w/*-journal 2>/dev/null; kept || echo deleted)"
tap_run "the workspace is as before" 0 "0 new rows" sweep collect --root w

commands=("sweep status" "sweep collect" "sweep collect --rebuild" "sweep bundle mine -o b.tar.zst" "analyze table" "analyze check"
  "analyze merge -o m.db" "analyze sql")

# ---- one's own side files stay with the old database
fresh; chmod 2775 w; tool sql w/results.db 'PRAGMA journal_mode = WAL' > /dev/null
head -c 100 /dev/zero > w/results.db-wal
tap_run "a rebuild" 0 "rows from 1 run" sweep collect --rebuild --root w
tap_check "keeps a WAL of one's own with results.db.old" "$([ -s w/results.db.old-wal ] || ls -la w)"

# ---- pipes, links and directories next to the database
for suffix in wal shm journal; do
  for kind in pipe link directory; do
    spoil() {
      case $kind in
        pipe) mkfifo "w/results.db-$suffix" ;;
        link) echo secret > secret; ln -s "$PWD/secret" "w/results.db-$suffix" ;;
        directory) mkdir "w/results.db-$suffix" ;;
      esac
    }
    unchanged() { [ $kind != link ] || [ "$(cat secret)" = secret ]; }
    tap_check "results.db-$suffix is a $kind" "$(for_each unchanged)"
  done
done

# ---- views and triggers in the file
commands+=("sweep plan mine" "sweep status mine --cost" "sweep rm mine --yes" "analyze check --repair" "analyze export csv -o o" "analyze report -o o")
endless='WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT'
view() { tool sql w/results.db "DROP VIEW $1" && tool sql w/results.db "CREATE VIEW $1 AS $2"; }
spoil() {
  view run_ddr "$endless id AS run_id, (SELECT max(x) FROM c) AS ddr FROM run"
  view setting "$endless run.id AS run_id, 'a' AS name, x AS value FROM run, c"
  view run_summary "$endless run.*, x AS run_id FROM run, c"
  view best_solve_rate "$endless *, x AS run_id FROM evaluation, c"
  tool sql w/results.db "CREATE TRIGGER t AFTER INSERT ON annotation BEGIN INSERT INTO iteration(run_id, iteration) $endless 'a', x FROM c; END"
  tool sql w/results.db "CREATE TRIGGER u AFTER UPDATE ON run BEGIN DELETE FROM run; END"
}
any() { true; }
tap_check "endless views and triggers end no command late" "$(for_each any)"
fresh; spoil
tap_run "our own views answer" 0 "mine" analyze sql w/results.db 'SELECT id, run_ddr.ddr, sweeps FROM run, run_ddr, run_summary'
spoil_table() { tool sql w/results.db "ALTER TABLE $1 RENAME TO was" && tool sql w/results.db "CREATE VIEW $1 AS $endless was.* FROM was, c"; }
for table in run iteration sweep_run; do
  spoil() { spoil_table $table; }
  tap_check "a view in place of the table $table" "$(for_each any)"
done

# ---- expressions in tables and indexes, a single one of which takes minutes
slow="(instr(printf('%.*c', 20000000, 'a'), printf('%.*c', 10000000, 'a') || 'b') = 0)"
rewrite() { tool sql w/results.db "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '$2', '${3//\'/\'\'}') WHERE name = '$1'" > rewritten; }
for kind in "run~message TEXT~message TEXT AS $slow~a generated column" "iteration~  kl REAL~  kl REAL AS $slow~one of the log" \
  "run~PRIMARY KEY(key)~PRIMARY KEY(key), CHECK $slow~a CHECK" "run~message TEXT~message TEXT DEFAULT $slow~a default" \
  "sweep_run_by_run~(run_id)~(run_id) WHERE $slow~a condition of an index" "sweep_run_by_run~(run_id)~($slow)~an index of an expression"; do
  IFS='~' read -r table from to name <<< "$kind"
  spoil() { rewrite "$table" "$from" "$to"; }
  said() { # which commands say it, and whether the remedy works
    case $command in
      "sweep collect --rebuild") grep -q "rows from 1 run" done ;;
      "sweep status") true ;;
      *) grep -q "sweep collect --rebuild" done ;;
    esac
  }
  fresh; spoil
  tap_check "the file has $name" "$(tool sql w/results.db "SELECT sql FROM sqlite_schema WHERE name = '$table'" 2>&1 | grep -qF "$to" || cat rewritten)"
  commands=("sweep status" "sweep collect" "sweep collect --rebuild" "sweep bundle mine -o b.tar.zst" "analyze table" "analyze check"
    "analyze merge -o m.db" "analyze sql" "analyze export csv -o o" "analyze report -o o")
  tap_check "$name ends no command late" "$(for_each said)"
done
fresh; spoil
tap_run "the message names the table" 2 "'sweep_run_by_run' is not a table or index that sweep creates" analyze table w/results.db
tap_run "status names the remedy" 0 "sweep collect --rebuild" sweep status --root w

# ---- the page ends with its query
fresh; spoil_table run
for signal in TERM INT; do
  rm -f page; sweep serve --port 0 --json --root w > page 2>&1 & pid=$!
  tap_wait 30 eval 'grep -q "^}" page || ! kill -0 $pid'
  if grep -q '^}' page; then
    kill -$signal $pid
    ended() { ! kill -0 $pid 2> /dev/null; }
    tap_wait 30 ended; tap_result "the page ends at SIG$signal" $?
  else tap_skip "the page ends at SIG$signal" "no libmicrohttpd"; fi
done
tap_done
