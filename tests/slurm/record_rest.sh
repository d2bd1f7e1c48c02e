#!/usr/bin/env bash
# Records the responses of a real slurmrestd in the form that tests/unit/test_rest.c reads
# (tests/unit/slurmrestd/*.json): one object with a response per request, from a cluster of one node with an array whose
# tasks wait, run, failed and were cancelled. Needs root, Slurm and curl.
#   SLURM_PREFIX=/opt/slurm-26.05 SLURM_REST_VERSION=45 tests/slurm/record_rest.sh >tests/unit/slurmrestd/v0.0.45.json
set -u
cd "$(dirname "$0")/../.." || exit 1
version=v0.0.${SLURM_REST_VERSION:?number of the API version}
. tests/slurm/cluster.sh
trap cluster_stop EXIT
cluster_nodes=1
cluster_gpus=2
cluster_start || { echo "$cluster_problem" >&2; exit 1; }
cluster_rest start || { echo "$cluster_problem" >&2; exit 1; }
batch() { cluster_as_rest sbatch --mem=100M --time=5 --chdir=/tmp --output=/dev/null "$@" >/dev/null; }
until_tasks() { until [ "$(squeue -h -r -t "$1" -o %i | wc -l)" = "$2" ]; do sleep 0.1; done; }
batch --job-name=end --array=0-0 --wrap 'exit 3'
until_tasks F 1
batch --job-name=work --comment='sweep=a batch=1' --array=0-5%1 --gres=gpu:1 --signal=B:USR2@60 --wrap 'exec sleep 600'
until_tasks R 1
cluster_as_rest scancel "$(squeue -h -r -t R -n work -o %i)"
until_tasks CA 1
until_tasks R 1
# On one line; settings that are empty, off or not set go, but those of arrays and what is not a setting (status, errors) stay,
# as does nothing of the machine.
empty='("(0|0\.0)?"|\[\]|false|null|0|\{\x01set": (true|false),\x01infinite": (true|false),\x01number": 0\}|\{\})'
prune='s/ {2,}|\t//g; s/"(operating_system|hostname)": "[^"]*",//g; s/"client": \{[^{}]*\},//g; s/"(set"|infinite"|number"|array_|exit|start_|state|status|jobs|errors|warnings|partitions|job_id|signal|return|release)/\x01\1/g
:again; s/"[a-z_]+": '$empty',//g; t again; s/,?"[a-z_]+": '$empty'\}/}/g; t again; s/\x01/"/g'
ask() { # key path [curl's options]
  local answer
  answer=$(cluster_as_rest curl -s -w '%{http_code}' --unix-socket "$cluster_dir/rest/sock" -H 'Content-Type: application/json' "${@:3}" \
    "http://localhost/slurm/$version/$2")
  printf '%s"%s": {"status": %s, "answer":\n%s}' "$comma" "$1" "${answer: -3}" "$(tr -d '\n' <<<"${answer%???}" | sed -E "$prune")"
  comma=$',\n'
}
job='"environment": ["PATH=/bin"], "name": "x", "current_working_directory": "/tmp"'
[ "$SLURM_REST_VERSION" -ge 39 ] || job=${job/'["PATH=/bin"]'/'{"PATH": "/bin"}'}
script='"script": "#!/bin/sh\ntrue\n"'
submit() { if [ "$SLURM_REST_VERSION" -ge 39 ]; then echo "{\"job\": {$job, $script, $1}}"; else echo "{\"job\": {$job, $1}, $script}"; fi; }
comma=
printf '{"recorded": "slurmrestd %s, %s, tests/slurm/record_rest.sh",\n"version": %d,\n' "$cluster_version" "$version" "$SLURM_REST_VERSION"
ask ping ping
ask partitions partitions
ask nodes nodes
ask jobs jobs
ask refused job/submit -d "$(submit '"partition": "nowhere"')"
ask submitted job/submit -d "$(submit '"hold": true')"
if [ "$SLURM_REST_VERSION" -ge 40 ]; then ask no_such_job jobs/ -X DELETE -d '{"jobs": ["99999_7"]}'
else ask no_such_job job/99999_7 -X DELETE
fi
cluster_controller stop
ask unreachable jobs
printf '}\n'
