"""submitit handing 1000 jobs to the cluster that SLURM_CONF names, as one array and held, so that only the submission is timed.
Usage: slurm_submitit.py FOLDER"""
import sys
import time

import submitit

from rows import row

JOBS = 1000


def main():
    executor = submitit.AutoExecutor(folder=sys.argv[1], cluster="slurm")
    executor.update_parameters(timeout_min=10, slurm_array_parallelism=JOBS, name="peer",
                               slurm_additional_parameters={"hold": True, "mem": "100M"})
    start = time.perf_counter()
    executor.map_array(abs, list(range(JOBS)))
    row("submit_1000", "wall", time.perf_counter() - start, "s", "submitit " + submitit.__version__)


main()
