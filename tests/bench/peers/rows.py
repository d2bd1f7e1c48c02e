"""One CSV row of `make bench`, as tests/bench/bench.h prints it: part,case,metric,value,unit,threads,machine,commit.
For a peer the last field is its own version."""
import os
import subprocess
import sys
import time

THREADS = len(os.sched_getaffinity(0))


# glibc gives a tensor of some hundred MB back to the kernel, which clears its pages at the next one. With these settings
# of its own it keeps memory, in large pages. Cases of programs that run so end in _kept.
KEPT = {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=100000000000:"
                          "glibc.malloc.top_pad=1000000000:glibc.malloc.hugetlb=1"}


def machine():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown"


IS_KEPT = os.environ.get("GLIBC_TUNABLES") == KEPT["GLIBC_TUNABLES"]


def run_kept(script):
    """At the end of a script: the same once more, where memory is kept."""
    if not IS_KEPT:
        sys.exit(subprocess.run([sys.executable, script], env=os.environ | KEPT).returncode)


def row(case, metric, value, unit, version):
    case += "_kept" if IS_KEPT else ""
    print(",".join(["peer", case, metric, "%.6g" % value, unit, str(THREADS), machine().replace(",", " "), version]),
          flush=True)


def best_seconds(run, seconds=4.0, least=3):
    """The shortest of at least `least` calls and `seconds` seconds of them; one call before warms up (and compiles)."""
    run()
    times, begun = [], time.perf_counter()
    while len(times) < least or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)
