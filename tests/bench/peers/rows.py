"""One CSV row of `make bench`, as tests/bench/bench.h prints it: part,case,metric,value,unit,threads,machine,commit.
For a peer the last field is its own version."""
import os
import time

THREADS = len(os.sched_getaffinity(0))


def machine():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown"


def row(case, metric, value, unit, version):
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
