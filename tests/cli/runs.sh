# Sourced by tests that create small databases: submits experiments, and gives their runs scores that follow a known
# model.
analyze_json() { # DATABASE CLAIM FIELDS [OPTIONS...]: fields of the result of `analyze claims`, separated by spaces
  local database=$1 claim=$2 fields=$3 json; shift 3
  json=$(analyze claims "$database" --claim "$claim" --json "$@") || { echo "$json"; return 1; }
  json_fields "$json" '$.claims[0]' "$fields"
}
json_fields() { # JSON PATH FIELDS: numbers with four digits
  local field sql=
  for field in $3; do
    sql="$sql || ' ' || coalesce(CASE typeof(json_extract(j, '$2.$field')) WHEN 'real'
      THEN printf('%.4g', json_extract(j, '$2.$field')) ELSE json_extract(j, '$2.$field') END, 'null')"
  done
  tool sql :memory: "SELECT ltrim(''$sql) FROM (SELECT '${1//\'/\'\'}' AS j)"
}
submit() { # ROOT INI|TEXT [OPTIONS...]
  local root=$1 ini=$2; shift 2
  if [ ! -e "$ini" ]; then
    mkdir -p "$root"
    printf '%s\n' "$ini" >"$root/$(sed -n 's/^name *= *//p' <<<"$ini" | head -1).ini"
    ini=$root/$(sed -n 's/^name *= *//p' <<<"$ini" | head -1).ini
  fi
  sweep submit "$ini" --no-start --no-check --root "$root" "$@" >/dev/null || echo "submit $ini failed"
}
# fill ROOT KEYS AWK: the awk program makes each run of the workspace. It has id, iterations, each (transitions), seed,
# `sweep` (its first), v["ppo.com"] for KEYS, and calls run(LAST, STATUS), then eval(ITERATION, RATE[, RETURN]) and
# stat(ITERATION, "kl=1 ..."). z(N) of seed 0 .. N - 1 has the mean 0 and the standard deviation 1.
fill() {
  local root=$1 keys=$2 program=$3 key columns=
  for key in $keys; do columns="$columns, json_extract(config, '\$.$key')"; done
  tool sql "$root/results.db" "SELECT run.id, iterations, transitions_total / iterations, run.seed,
    (SELECT min(sweep) FROM sweep_run WHERE run_id = run.id) $columns FROM run WHERE run.status = 'pending' ORDER BY run.id" |
    awk -F'|' -v keys="$keys" '
      function run(last, status) { print "run", id, iterations, each, last, status }
      function eval(iteration, rate, value) { print "eval", iteration, "train", rate, value == "" ? "-" : value }
      function stat(iteration, text) { print "stat", iteration, text }
      function z(n) { return (seed % n - (n - 1) / 2) / sqrt(n * (n + 1) / 12) }
      BEGIN { OFMT = CONVFMT = "%.17g"; split(keys, name, " ") }
      { id = $1; iterations = $2; each = $3; seed = $4; sweep = $5; for (i in name) v[name[i]] = $(5 + i) }
      '"$program" | "$SWEEP_BUILD/tests/cli/cli_runs" "$root" || echo "fill $root failed"
  sweep collect --root "$root" >/dev/null || echo "collect $root failed"
}
