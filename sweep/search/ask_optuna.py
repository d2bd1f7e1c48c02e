"""Asks a sampler of Optuna for the trials of a search: `method = optuna:SAMPLER`, a program of the protocol in ask.h.

    python ask_optuna.py <question >answer

Keeps nothing between waves: each question has all trials, which are asked and told again, in memory. Samplers that
learn only from finished trials get the recorded ones without sampling, and a seed of their own in each wave. All others
sample every recorded trial again, from one seed, so that their state is that of one long study; what is recorded
replaces what they sample.
"""

import ast
import inspect
import json
import math
import os
import random
import sys
import warnings

PROTOCOL = 1
REHEARSED = 12  # trials of a rehearsal: more than any sampler draws before it begins to model
STATELESS = ("GPSampler", "TPESampler", "RandomSampler")


class Problem(Exception):
    """Something that the user can mend."""


# ---- modules

# Drops relative entries of PYTHONPATH: other users may write to the working directory.
_relative = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not os.path.isabs(p)]
if "PYTHONPATH" in os.environ:
    sys.path = [p for p in sys.path if p and os.path.abspath(p) not in _relative]


def import_optuna():
    try:
        import optuna
    except ImportError as error:
        raise Problem(f"{sys.executable} cannot import Optuna ({error}); install it there, with pip install optuna, or "
                      "set SWEEP_PYTHON to a Python that has it") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    return optuna


# ---- sampler

def parse_sampler(text):
    """Returns the name and the keyword arguments of "CmaEsSampler(sigma0=0.3)"; nothing is evaluated."""
    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Name):
            return call.id, {}
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError
        return call.func.id, {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
    except (SyntaxError, ValueError) as error:
        raise Problem(f"{text}: expected the name of a sampler and arguments with literal values, as in "
                      "CmaEsSampler(sigma0=0.3)") from error


def make_sampler(optuna, text, seed):
    """Creates the sampler. `seed` is passed to those that have one."""
    name, arguments = parse_sampler(text)
    sampler = getattr(optuna.samplers, name, None)
    if not inspect.isclass(sampler) or not issubclass(sampler, optuna.samplers.BaseSampler):
        known = sorted(n for n in dir(optuna.samplers) if n.endswith("Sampler") and not n.startswith("Base"))
        raise Problem(f"Optuna {optuna.__version__} has no sampler {name}; it has {', '.join(known)}")
    if "seed" in arguments:
        raise Problem("the seed follows from the names of sweep and search; remove seed")
    if "seed" in inspect.signature(sampler).parameters:
        arguments["seed"] = seed
    try:
        return sampler(**arguments)
    except (TypeError, ValueError, AttributeError) as error:
        raise Problem(f"{text}: {error}") from error


def recorded_class(optuna):
    class Recorded(optuna.samplers.BaseSampler):
        """Samples by another sampler, or replaces what it samples by recorded values."""

        def __init__(self, sampler, is_stateless):
            self.sampler, self.is_stateless = sampler, is_stateless
            self.values = None  # {name: value} of the recorded trial; None: samples

        def infer_relative_search_space(self, study, trial):
            return self.sampler.infer_relative_search_space(study, trial)

        def sample_relative(self, study, trial, search_space):
            if self.values is None:
                return self.sampler.sample_relative(study, trial, search_space)
            names = search_space
            if not self.is_stateless:  # the others are sampled one by one, as they were then
                names = self.sampler.sample_relative(study, trial, search_space)
            return {name: self.values[name] for name in names if name in self.values}

        def sample_independent(self, study, trial, param_name, param_distribution):
            sampled = None
            if self.values is None or not self.is_stateless:
                sampled = self.sampler.sample_independent(study, trial, param_name, param_distribution)
            return sampled if self.values is None else self.values[param_name]

        def before_trial(self, study, trial):
            self.sampler.before_trial(study, trial)

        def after_trial(self, study, trial, state, values):
            try:
                self.sampler.after_trial(study, trial, state, values)
            except RuntimeError:
                pass  # samplers of finite spaces stop a study; here the search ends by its number of trials

        def reseed_rng(self):
            self.sampler.reseed_rng()

    return Recorded


# ---- space

class Axis:
    """A setting: its distribution for Optuna, and the values on both sides."""

    def __init__(self, optuna, described):
        self.name, self.when = described["setting"], described.get("when")
        self.kind, self.scale = described["kind"], described.get("scale")
        self.low, self.high = described.get("low"), described.get("high")
        distributions = optuna.distributions
        if self.kind == "choice":
            self.distribution = distributions.CategoricalDistribution(described["choices"])
        elif self.scale == "pow2":
            self.distribution = distributions.IntDistribution(round(math.log2(self.low)), round(math.log2(self.high)))
        elif self.kind == "integer":
            self.distribution = distributions.IntDistribution(self.low, self.high, log=self.scale == "log")
        elif self.scale == "logit":
            self.distribution = distributions.FloatDistribution(self.logit(self.low), self.logit(self.high))
        else:
            self.distribution = distributions.FloatDistribution(self.low, self.high, log=self.scale == "log")

    @staticmethod
    def logit(value):
        return math.log(value) - math.log1p(-value)

    def to_optuna(self, value):
        if self.kind == "choice":
            return value
        if self.scale == "pow2":
            return round(math.log2(value))
        value = self.logit(value) if self.scale == "logit" else value
        return min(max(value, self.distribution.low), self.distribution.high)  # recorded values are rounded

    def from_optuna(self, value):
        if self.kind == "choice":
            return value
        if self.scale == "pow2":
            return 2**value if self.kind == "integer" else 2.0**value
        value = 1 / (1 + math.exp(-value)) if self.scale == "logit" else value
        return min(max(value, self.low), self.high)

    def is_active(self, settings):
        return self.when is None or settings.get(self.when["setting"]) in self.when["choices"]


def order_axes(axes):
    """Returns the axes with parents before their children."""
    placed = []
    while len(placed) < len(axes):
        names = {axis.name for axis in placed}
        placed += [axis for axis in axes
                   if axis not in placed and (axis.when is None or axis.when["setting"] in names)]
    return placed


# ---- study

class Study:
    def __init__(self, optuna, head, ask):
        self.optuna = optuna
        self.axes = order_axes([Axis(optuna, described) for described in head["space"]])
        is_stateless = parse_sampler(head["sampler"])[0] in STATELESS
        sampler = make_sampler(optuna, head["sampler"], ask["seed"] if is_stateless else head["seed"])
        self.sampler = recorded_class(optuna)(sampler, is_stateless)
        self.directions = ["minimize" if goal["direction"] == "min" else "maximize" for goal in head["goals"]]
        self.study = optuna.create_study(directions=self.directions, sampler=self.sampler)

    def ask(self, recorded=None):
        """Samples a trial, or repeats the one with the recorded settings. Returns it and its settings."""
        self.sampler.values = recorded and {axis.name: axis.to_optuna(recorded[axis.name])
                                            for axis in self.axes if axis.name in recorded}
        trial, settings = self.study.ask(), {}
        for axis in self.axes:
            if not axis.is_active(settings):
                continue
            distribution = axis.distribution
            if axis.kind == "choice":
                value = trial.suggest_categorical(axis.name, distribution.choices)
            elif isinstance(distribution, self.optuna.distributions.IntDistribution):
                value = trial.suggest_int(axis.name, distribution.low, distribution.high, log=distribution.log)
            else:
                value = trial.suggest_float(axis.name, distribution.low, distribution.high, log=distribution.log)
            settings[axis.name] = axis.from_optuna(value)
        self.sampler.values = None
        return trial, settings

    def tell(self, trial, values):
        if values is None:
            self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
        else:
            self.study.tell(trial, values)

    def worst(self, trials):
        """Returns the worst value of each goal: that of trials that failed or cannot be run. None: there is none."""
        values = [trial["values"] for trial in trials if trial["values"]]
        worst = {"minimize": max, "maximize": min}
        return [worst[d](v[g] for v in values) for g, d in enumerate(self.directions)] if values else None

    def replay(self, trials, refusals):
        """Asks the recorded trials again, wave by wave, and tells those that have ended."""
        worst = self.worst(trials)
        for wave in sorted({trial["wave"] for trial in trials}):
            asked = [(self.ask(trial["settings"])[0], trial) for trial in trials if trial["wave"] == wave]
            for trial, record in asked:
                if record["state"] != "waiting":
                    self.tell(trial, record["values"] or worst)
        for refusal in refusals:
            self.tell(self.ask(refusal["refused"])[0], worst)


def rehearse(study):
    """Samples after trials with invented values, so that what a sampler lacks is known before anything is trained."""
    generator = random.Random(0)
    study.sampler.values = None
    sampler, study.sampler.sampler = study.sampler.sampler, study.optuna.samplers.RandomSampler(seed=0)
    asked = [study.ask() for _ in range(REHEARSED)]
    study.sampler.sampler = sampler
    for trial, _ in asked:
        study.tell(trial, [generator.random() for _ in study.directions])
    study.ask()


def answer(lines):
    head, ask = lines[0], lines[-1]
    if head.get("protocol") != PROTOCOL:
        raise Problem(f"ask_optuna.py speaks protocol {PROTOCOL}; reinstall sweep")
    study = Study(import_optuna(), head, ask)
    if ask["ask"] == 0:
        rehearse(study)
        return []
    study.replay([line for line in lines if "trial" in line], [line for line in lines if "refused" in line])
    return [{"settings": study.ask()[1]} for _ in range(ask["ask"])]


def main():
    try:
        answers = answer([json.loads(line) for line in sys.stdin])
    except Problem as problem:
        answers = [{"error": str(problem)}]
    except Exception as error:  # of Optuna, or of what its samplers import
        first = (str(error).strip() or "no message").splitlines()[0]
        answers = [{"error": f"Optuna says {type(error).__name__}: {first}"}]
    for line in answers:
        print(json.dumps(line))


if __name__ == "__main__":
    main()
