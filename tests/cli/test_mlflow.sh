#!/usr/bin/env bash
# analyze export mlflow against a real MLflow server, where Python has one (request shapes without one: tests/unit/test_mlflow.c).
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
# The program: $SWEEP_MLFLOW (as of a virtual environment: .../bin/mlflow), else mlflow in PATH. Its first line names its Python.
mlflow=${SWEEP_MLFLOW:-$(command -v mlflow)}
if [ ! -x "$mlflow" ]; then
  tap_skip "a real MLflow server" "no mlflow in PATH (pip install mlflow; SWEEP_MLFLOW names one elsewhere)"
  tap_done
fi
python=$(sed -n '1s/^#! *//p' "$mlflow")
server=
# The server has worker processes, which are ended with it by their session.
end_server() { [ -z "$server" ] || kill -- "-$server" 2>/dev/null; }
trap 'end_server; tap_cleanup' EXIT
# Its port is open before its workers are ready, which then drop the first requests.
healthy() { (exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /health HTTP/1.0\r\n\r\n' >&3 && timeout 5 grep -q OK <&3) 2>/dev/null; }
answers() { ! kill -0 $server 2>/dev/null || healthy; }
for try in 1 2 3 4 5; do # it exits if the port is in use
  port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
  setsid "$mlflow" server --workers 1 --host 127.0.0.1 --port $port --backend-store-uri "sqlite:///$tap_dir/mlflow.db" \
    --default-artifact-root "$tap_dir/artifacts" >"$tap_dir/server.log" 2>&1 &
  server=$!
  tap_wait 180 answers
  kill -0 $server 2>/dev/null && break
done
kill -0 $server 2>/dev/null; tap_result "$("$mlflow" --version) answers" $? "$(tail -5 "$tap_dir/server.log")"
sed -n '/^experiment()/,/^}/p' tests/slurm/sweep.sh >"$tap_dir/experiment.sh"
experiments=0; . "$tap_dir/experiment.sh"
experiment study 2 20
sweep submit "$tap_dir/study.ini" --root "$tap_dir" --local --wait >/dev/null 2>&1
export_study() { analyze export mlflow "$tap_dir/results.db" --sweep study --url "http://127.0.0.1:$port"; }
tap_run "two runs are copied" 0 "2 runs" export_study
tap_run "and again, without more runs" 0 "2 runs" export_study
out=$("$python" - "http://127.0.0.1:$port" <<'PY'
import sys, mlflow
client = mlflow.MlflowClient(sys.argv[1])
runs = client.search_runs([client.get_experiment_by_name("study").experiment_id])
steps = {len(client.get_metric_history(r.info.run_id, "kl")) for r in runs}
print(len(runs), {r.info.status for r in runs}, steps, all(r.data.params["env.num"] == "8" for r in runs))
PY
)
[ "$out" = "2 {'FINISHED'} {20} True" ]; tap_result "MLflow has the runs, their settings and each iteration once" $? "$out"
tap_done
