"""A training program's side of sweep (docs/programs.md): metrics, resuming, and saving when sweep asks it to end.

    from sweepdb import run

    run.defaults(steps=100_000)                        # for a run outside of sweep
    state = run.resume(torch.load)                     # the newest checkpoint, or None
    for step in range(state["step"] if state else 0, run.config.steps, batch):
        ...
        run.log(step, **{"return": r, "entropy": h})
        run.save_and_exit_if_told(lambda path: torch.save({"step": step}, path))

Outside of sweep nothing is saved or resumed, log prints, and config has the defaults. The module needs only the
standard library, so it may be copied next to a script as a single file.
"""
from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, TextIO

EXIT_SAVED = 75           # stopped after a checkpoint; sweep continues the run later
EXIT_DIVERGED = 76        # would diverge again

id: str = os.environ.get("SWEEP_RUN", "")
attempt: int = int(os.environ.get("SWEEP_ATTEMPT", "1"))
seed: int = int(os.environ.get("SWEEP_SEED", "0"))
directory: Path | None = Path(os.environ["SWEEP_DIR"]) if "SWEEP_DIR" in os.environ else None

_metrics: TextIO | None = None
_told = False


def _read_config() -> SimpleNamespace:
    path = os.environ.get("SWEEP_CONFIG")
    return SimpleNamespace(**(json.loads(Path(path).read_text(encoding="utf-8")) if path else {}))


config: SimpleNamespace = _read_config()


def defaults(**settings: Any) -> None:
    """Sets the settings that config lacks: all of them outside of a sweep."""
    for name, value in settings.items():
        if not hasattr(config, name):
            setattr(config, name, value)


def _take_signal(number: int, frame: Any) -> None:
    global _told
    _told = True


def _number(value: Any) -> Any:
    """Converts numbers of NumPy, PyTorch and JAX for json."""
    return value.item() if hasattr(value, "item") else float(value)


def log(step: float | None = None, *, eval: str | None = None, **metrics: Any) -> None:
    """Records metrics at a step. eval names a level set: the record is an evaluation."""
    global _metrics
    record: dict[str, Any] = dict(metrics)
    if step is not None:
        record = {"step": step, **record}
    if eval is not None:
        record["eval"] = eval
    line = json.dumps(record, default=_number)
    path = os.environ.get("SWEEP_METRICS")
    if path is None:
        print(line, flush=True)
        return
    if _metrics is None:
        _metrics = open(path, "a", encoding="utf-8")
    _metrics.write(line + "\n")
    _metrics.flush()


def resume(load: Callable[[str], Any]) -> Any:
    """Returns the newest file that save_and_exit_if_told or save has written; None if there is none."""
    if directory is None:
        return None
    path = directory / "checkpoint"
    return load(str(path)) if path.exists() else None


def save(write: Callable[[str], Any]) -> None:
    """Writes a checkpoint: write(path) creates the file, which replaces the previous one atomically."""
    if directory is None:
        return
    unfinished = directory / "checkpoint.unfinished"
    write(str(unfinished))
    with open(unfinished, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(unfinished, directory / "checkpoint")


def should_stop() -> bool:
    """Whether sweep has asked the program to end."""
    return _told


def save_and_exit_if_told(write: Callable[[str], Any]) -> None:
    """If sweep has asked the program to end: saves by write(path) and exits. Call it once per iteration."""
    if not _told:
        return
    save(write)
    sys.exit(EXIT_SAVED)


def diverged(reason: str = "diverged") -> None:
    """Exits with the status of a diverged run, which is not repeated."""
    print(reason, file=sys.stderr, flush=True)
    sys.exit(EXIT_DIVERGED)


if id:
    for _number_of_signal in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(_number_of_signal, _take_signal)
