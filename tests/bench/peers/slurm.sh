#!/usr/bin/env bash
# Other tools that submit 1000 held jobs to the cluster of SLURM_CONF, so that only the submission is timed; each
# removes its jobs from the queue. CSV rows of part "peer". PEER_SUBMITIT=python that has submitit (default: python3).
set -u
cd "$(dirname "$0")"
python=${PEER_SUBMITIT:-python3} folder=$(mktemp -d "${TMPDIR:-/tmp}/peer-slurm.XXXXXX")
trap 'rm -rf "$folder"' EXIT
machine=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1 | tr ',' ' ')
version="slurm $(sbatch --version | cut -d' ' -f2)"
row() { echo "peer,submit_1000,wall,$2,s,$(nproc),${machine:-unknown},$1"; }
since() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f", b - a }'; }
printf '#!/bin/sh\nexit 0\n' >"$folder/job.sh"
begin=$(date +%s.%N)
sbatch --parsable --hold --job-name=peer --mem=100M --output=/dev/null --array=0-999 "$folder/job.sh" >/dev/null
row "one sbatch --array; $version" "$(since "$begin")"
scancel --name=peer
begin=$(date +%s.%N)
for i in $(seq 1000); do sbatch --parsable --hold --job-name=peer --mem=100M --output=/dev/null "$folder/job.sh" "$i" >/dev/null; done
row "an sbatch for each job; $version" "$(since "$begin")"
scancel --name=peer
if "$python" -c "import submitit" 2>/dev/null; then
  "$python" slurm_submitit.py "$folder/submitit" 2>"$folder/err" || echo "# peer submitit failed: $(tail -1 "$folder/err")"
  scancel --name=peer
else
  echo "# peer PEER_SUBMITIT: not installed; python3 -m venv peer && peer/bin/pip install submitit, then set PEER_SUBMITIT=peer/bin/python"
fi
