"""A run's policy as numpy: sweepdb.policy("runs/ab/ab12...").act(observations), or of an exported file:
sweepdb.policy("weights.safetensors").

Networks are the trainer's (trainer/nets/agent.h): dense layers with or without layer norm, actor and critic separate or
on a common trunk. Shapes come from the run's settings and from the sections' sizes.
"""
from __future__ import annotations

import json
import os
import pathlib
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import checkpoint as files
from . import weights as exported
from .errors import DamagedError, Error, UnsupportedError, VersionError

_NORM_EPSILON = 1e-5                                    # added to the variance
_CLASSES = {"multi_discrete": (3, 3, 3, 3, 2, 2), "discrete": (11,)}
_CONTINUOUS = 6                                         # the simulator's bindings
_MOMENTS = "observation moments"                        # count, means, sums of squares: 1 + 2 features doubles
_BOUNDS = {"none": np.inf, "stoix": np.inf, "cleanrl": 10.0, "cleanrl_each": 10.0, "rl_games": 5.0}


class Layer(NamedTuple):
    """y = activation(norm(x W + b)), with optional norm and activation."""

    kernel: np.ndarray              # W [inputs][outputs]
    bias: np.ndarray                # [outputs]
    gain: np.ndarray | None         # [outputs] of layer norm
    offset: np.ndarray | None
    activation: str | None          # None: the head

    def forward(self, x: np.ndarray) -> np.ndarray:
        """x [rows][inputs] -> [rows][outputs], float32."""
        y = x @ self.kernel + self.bias
        if self.gain is not None:
            centered = y - y.mean(axis=1, keepdims=True, dtype=np.float64)
            variance = np.square(centered).mean(axis=1, keepdims=True)
            y = (centered / np.sqrt(variance + _NORM_EPSILON)).astype(np.float32) * self.gain + self.offset
        return _activate(self.activation, y)


def _activate(name: str | None, y: np.ndarray) -> np.ndarray:
    """
    >>> _activate("elu", np.float32([[-1, 2]])).round(3).tolist()
    [[-0.6320000290870667, 2.0]]
    """
    if name == "tanh":
        return np.tanh(y)
    if name == "relu":
        return np.maximum(y, 0)
    if name == "silu":
        return y * (0.5 * np.tanh(0.5 * y) + 0.5)
    if name == "elu":
        return np.where(y > 0, y, np.expm1(np.minimum(y, 0)))
    return y


class ActionSpace(NamedTuple):
    """Actions of a Gymnasium environment."""

    shape: tuple[int, ...]
    dtype: np.dtype
    low: np.ndarray | None          # [numbers], float64; None: discrete classes
    high: np.ndarray | None
    start: np.ndarray               # number of the first class, of all or [factors]

    @classmethod
    def parse(cls, text: str) -> ActionSpace:
        """
        >>> ActionSpace.parse('{"shape": [], "dtype": "int64", "start": -1}').translate(np.array([[0], [2]])).tolist()
        [-1, 1]
        >>> box = '{"shape": [2], "dtype": "int8", "low": [-1, -2], "high": [1, null]}'
        >>> ActionSpace.parse(box).translate(np.float32([[3, 3.5]])).tolist()
        [[1, 4]]
        """
        facts = json.loads(text)
        low, high = (np.array([unbounded if number is None else number for number in facts[side]], np.float64)
                     if side in facts else None for side, unbounded in (("low", -np.inf), ("high", np.inf)))
        return cls(tuple(facts["shape"]), np.dtype(facts["dtype"]), low, high, np.asarray(facts.get("start", 0)).ravel())

    def translate(self, actions: np.ndarray) -> np.ndarray:
        """Converts classes from 0, or numbers, [rows][factors] -> [rows] + shape, clipped to the space, in its type."""
        if self.low is None or self.high is None:
            actions = actions + self.start
        else:
            numbers = actions.astype(self.dtype if self.dtype.kind == "f" else np.float64).astype(np.float64)
            actions = np.clip(numbers if self.dtype.kind == "f" else np.rint(numbers), self.low, self.high)
        return actions.astype(self.dtype).reshape((len(actions), *self.shape))


class Policy:
    """A policy and its critic. Weights are read-only float32 arrays.

    path: a run directory, a checkpoint in it, or a file of `trainer export --safetensors`, which describes its
    actions. inputs, classes, bounds: needed if the files lack them. run_id, iteration: of the checkpoint. settings: of
    the run, by name, as text. inputs: numbers of an observation as the environment shows it. kind: "categorical",
    "gaussian", "tanh_affine" or "q". classes: of the factors of a categorical action, if known.
    action_space: actions of the environment's step, in exported files of Gymnasium environments. normalized: whether
    observations are normalized first."""

    path: pathlib.Path
    run_id: str
    iteration: int
    settings: dict[str, str]
    classes: tuple[int, ...] | None
    bounds: tuple[float, float] | None
    action_space: ActionSpace | None = None
    _mean: np.ndarray | None = None                     # of observations that are normalized
    _factor: np.ndarray | None = None

    def __init__(self, path: str | os.PathLike[str], inputs: int | None = None,
                 classes: Sequence[int] | None = None, bounds: tuple[float, float] | None = None) -> None:
        if exported.is_one(path):
            self._read_export(exported.read(path))
        else:
            self._read_checkpoint(path, inputs, classes, bounds)

    def _read_checkpoint(self, path: str | os.PathLike[str], inputs: int | None, classes: Sequence[int] | None,
                         bounds: tuple[float, float] | None) -> None:
        found = files.read(path, ("actor", "critic", _MOMENTS))
        self.path, self.run_id, self.iteration = found.path, found.run_id, found.iteration
        self.settings = files.settings(found.path)
        self._refuse_others()
        actor, critic = (_floats(found, name, np.dtype("<f4")) for name in ("actor", "critic"))
        self._read_rule()
        if self.normalized:
            self._read_moments(found)
        inputs, classes, bounds = self._read_spaces(inputs, classes, bounds)
        self.kind, self.classes, self.bounds = self._read_actions(classes, bounds)
        self._place(actor, critic, inputs)

    def _read_spaces(self, inputs: int | None, classes: Sequence[int] | None, bounds: tuple[float, float] | None) -> tuple[
            int | None, Sequence[int] | None, tuple[float, float] | None]:
        """Reads the spaces of an environment in Python that the caller does not give, and action_space."""
        path = self.path.absolute().parent.parent / "spaces.json"
        if not path.exists():
            return inputs, classes, bounds
        try:
            spaces = json.loads(path.read_text(encoding="utf-8"))
            if inputs is None:
                inputs = int(spaces["observations"])
            if spaces["values"] > 0 and bounds is None:
                low, high = spaces["low"], spaces["high"]
                bounds = -np.inf if low is None else float(low), np.inf if high is None else float(high)
            elif spaces["values"] == 0 and classes is None:
                classes = [int(size) for size in spaces["classes"]]
            if spaces["action_space"]:
                self.action_space = ActionSpace.parse(spaces["action_space"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedError(f"{path}: damaged: {error}") from None
        return inputs, classes, bounds

    def _read_export(self, found: exported.Weights) -> None:
        self.path, self.run_id, self.iteration = found.path, found.fact("run"), int(found.fact("iteration"))
        self.settings = _texts(json.loads(found.fact("config")))
        self._refuse_others()
        self._read_rule()
        if self.normalized:
            self._mean, self._factor = (found.tensors.get(f"observation.{name}") for name in ("mean", "factor"))
            if self._mean is None or self._factor is None:
                raise self._misfit()
        self.kind = found.fact("policy")
        self.classes = self.bounds = None
        if self.kind in ("gaussian", "tanh_affine"):
            low, high = (float(bound) for bound in found.fact("bounds").split(","))
            self.bounds = low, high
        else:
            self.classes = tuple(int(size) for size in found.fact("classes").split(","))
        if "action_space" in found.facts:
            self.action_space = ActionSpace.parse(found.fact("action_space"))
        first = found.tensors.get("actor.W0")
        if first is None or first.ndim != 2:
            raise self._misfit()
        self._place(found.vector("actor"), found.vector("critic"), first.shape[0])

    # ---- what it does --------------------------------------------------------------------------------------------

    def logits(self, observations: Any) -> np.ndarray:
        """observations [rows][inputs], as the environment returns them -> [rows][n] float32: logits of the categoricals
        in order; means and then log standard deviations ("gaussian"); locations and then raw scales
        ("tanh_affine"); Q values ("q")."""
        y = self._forward(self._actor, self.see(observations))
        if self.kind != "gaussian":
            return y
        return np.concatenate([y, np.broadcast_to(self.weights["actor.log_sigma"], y.shape)], axis=1)

    def values(self, observations: Any) -> np.ndarray:
        """Returns the critic's values, [rows]; the maximum of Q values."""
        if self.kind == "q":
            return self.logits(observations).max(axis=1)
        x = self.see(observations)
        return self._forward(self._critic, self._forward(self._actor[:self._trunk], x))[:, 0]

    def act(self, observations: Any, generator: np.random.Generator | None = None) -> np.ndarray:
        """Samples actions with the generator; None: the mode of classes, the Gaussian's mean. int64 [rows][factors],
        [rows] of a single factor; float32 [rows][factors] within `bounds`. With an action_space: [rows] and its
        shape, as for the environment's step."""
        logits = self.logits(observations)
        is_continuous = self.kind in ("gaussian", "tanh_affine")
        actions = self._act_continuous(logits, generator) if is_continuous else self._act_classes(logits, generator)
        if self.action_space is not None:
            return self.action_space.translate(actions)
        return actions[:, 0] if self.classes is not None and len(self.classes) == 1 else actions

    def _act_classes(self, logits: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
        if self.classes is None:
            raise UnsupportedError(f"{self.path}: env.task = {self.settings.get('env.task')}: give policy(...) the "
                                   f"classes of its actions, which add up to {logits.shape[1]}: classes=[...]")
        if generator is not None and self.kind != "q":        # the greatest of logits + Gumbel noise is a draw
            logits = logits + generator.gumbel(size=logits.shape)
        parts = np.split(logits, np.cumsum(self.classes)[:-1], axis=1)
        return np.stack([part.argmax(axis=1) for part in parts], axis=1)

    def _act_continuous(self, logits: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
        mean, raw = np.split(logits.astype(np.float64), 2, axis=1)
        scale = np.exp(raw) if self.kind == "gaussian" else np.logaddexp(raw, 0) + 1e-3
        x = mean if generator is None else mean + scale * generator.standard_normal(mean.shape)
        if self.bounds is None:
            raise UnsupportedError(f"{self.path}: env.task = {self.settings.get('env.task')}: give policy(...) the "
                                   "bounds of its actions: bounds=(-1, 1)")
        low, high = self.bounds
        if self.kind == "gaussian":
            return np.clip(x, low, high).astype(np.float32)
        return ((high + low) / 2 + (high - low) / 2 * np.tanh(x)).astype(np.float32)

    def see(self, observations: Any) -> np.ndarray:
        """Returns the networks' input: observations normalized, and rounded to half precision if the run did so."""
        x = np.asarray(observations, dtype=np.float32)
        if x.ndim != 2 or x.shape[1] != self.inputs:
            raise Error(f"observations of shape {x.shape}: must be (rows, {self.inputs})")
        if self._mean is not None:
            seen = (x.astype(np.float64) - self._mean) * self._factor
            x = np.clip(seen, -self._bound, self._bound).astype(np.float32)
        if not self._is_half:
            return x
        largest = np.float32(65504)  # what is finite stays so
        return np.where(np.isinf(x), x, np.clip(x, -largest, largest)).astype(np.float16).astype(np.float32)

    @staticmethod
    def _forward(layers: Sequence[Layer], x: np.ndarray) -> np.ndarray:
        for layer in layers:
            x = layer.forward(x)
        return x

    # ---- what it is ----------------------------------------------------------------------------------------------

    def _setting(self, name: str) -> str:
        if name not in self.settings:
            raise VersionError(f"{self.path}: the run's config.ini has no {name}: written by another version")
        return self.settings[name]

    def _whole_number(self, name: str, text: str) -> int:
        if not text.isdecimal() or int(text) > 1 << 20:
            raise VersionError(f"{self.path}: {name} = {text} in the run's config.ini: not a number of units or layers")
        return int(text)

    def _number(self, name: str) -> int:
        return self._whole_number(name, self._setting(name))

    def _hidden(self, prefix: str) -> list[int]:
        """Returns the widths of hidden layers of a tower ("net.") or of the trunk ("net.trunk_"); old runs lack it."""
        widths = self.settings.get(prefix + "widths", "")
        if not widths:
            return [self._number(prefix + "width")] * self._number(prefix + "depth")
        return [self._whole_number(prefix + "widths", width) for width in widths.split("-")]

    def _refuse_others(self) -> None:
        encoder, algorithm = self._setting("net.encoder"), self._setting("algo.name")
        if encoder != "none":
            raise UnsupportedError(f"{self.path}: net.encoder = {encoder}: only networks of dense layers can be read "
                                   "here, with net.encoder = none")
        memory = self.settings.get("net.memory", "none")      # unknown to older versions
        if memory != "none":
            raise UnsupportedError(f"{self.path}: net.memory = {memory}: recurrent policies cannot be read here, "
                                   "only those with net.memory = none")
        if algorithm not in ("ppo", "ppo_ewma", "pqn"):
            raise UnsupportedError(f"{self.path}: algo.name = {algorithm}: only policies of ppo, ppo_ewma and pqn can "
                                   "be read here")

    def _read_rule(self) -> None:
        """Returns how observations are normalized (trainer/math/normalize_rule.h)."""
        rule = self._setting("env.normalize_observations")
        if rule not in _BOUNDS:
            raise VersionError(f"{self.path}: env.normalize_observations = {rule}: unknown to this package")
        self._is_half = self._setting("train.observation_storage") == "float16"
        self.normalized = rule != "none"
        self._bound = _BOUNDS[rule]

    def _read_moments(self, found: files.Checkpoint) -> None:
        rule = self._setting("env.normalize_observations")
        found.section(_MOMENTS)
        moments = _floats(found, _MOMENTS, np.dtype("<f8"))
        features = (len(moments) - 1) // 2
        count, self._mean, m2 = moments[0], moments[1:1 + features], moments[1 + features:]
        variance = np.maximum(m2, 0) / count if count > 0 else np.ones(features)
        if rule == "stoix":
            variance = np.clip(variance, 5e-4**2, 5e4**2)
        else:
            variance = variance + (1e-5 if rule == "rl_games" else 1e-8)
        self._factor = 1 / np.sqrt(variance) if count > 0 else np.ones(features)

    def _read_actions(self, classes: Sequence[int] | None, bounds: tuple[float, float] | None) -> tuple[
            str, tuple[int, ...] | None, tuple[float, float] | None]:
        """Returns kind, classes and bounds; for tasks outside the simulator, those of the caller."""
        task, actions = self._setting("env.task"), self._setting("env.actions")
        own = self._is_own(task)
        is_q = self._setting("algo.name") == "pqn"
        if own and actions in _CLASSES:
            return "q" if is_q else "categorical", _CLASSES[actions], None
        if own or task.startswith("mujoco/") or bounds is not None:
            return self._setting("net.action_head"), None, bounds or ((-1.0, 1.0) if own else None)
        return "q" if is_q else "categorical", tuple(classes) if classes is not None else None, None

    @staticmethod
    def _is_own(task: str) -> bool:
        """Whether the simulator has this task: others are "mujoco/Ant-v5" or "library:file.so"."""
        return "/" not in task and ":" not in task

    def _outputs(self) -> int | None:
        """Returns the outputs of the actor's network if the settings determine them; for a Gaussian its means."""
        if self.classes is not None:
            return sum(self.classes)
        if self.kind in ("gaussian", "tanh_affine") and self._is_own(self._setting("env.task")):
            return _CONTINUOUS * (2 if self.kind == "tanh_affine" else 1)
        return None

    def _place(self, actor: np.ndarray, critic: np.ndarray, inputs: int | None) -> None:
        """Finds the layers in the vectors. Two sizes are unknown, inputs and outputs: normalization or the critic
        determine one, the rest of the actor the other."""
        tower = self._hidden("net.")
        norm = self._setting("net.norm")
        self._has_norm = norm == "layer" or (norm == "auto" and self.kind == "q")
        shared = self._setting("net.sharing") == "shared"
        trunk = self._hidden("net.trunk_") if shared else []
        self._trunk = len(trunk)
        hidden = [*trunk, *tower]
        inputs = self._find_inputs(hidden, actor, critic, inputs)
        outputs = self._find_outputs([inputs, *hidden], actor)
        self.inputs = inputs
        self.weights: dict[str, np.ndarray] = {}
        self._actor, rest = self._cut("actor", actor, [inputs, *hidden, outputs])
        if self.kind == "gaussian":
            self.weights["actor.log_sigma"], rest = rest[:outputs], rest[outputs:]
        below = trunk[-1] if trunk else inputs
        self._critic, left = ([], critic) if self.kind == "q" else self._cut(
            "critic", critic, [below, *tower, 1])
        if len(rest) or len(left):
            raise self._misfit()

    def _find_inputs(self, hidden: list[int], actor: np.ndarray, critic: np.ndarray, inputs: int | None) -> int:
        per_norm = 2 if self._has_norm else 0
        deeper = sum((a + 1 + per_norm) * b for a, b in zip(hidden, hidden[1:]))
        if inputs is not None:
            return inputs
        if self._mean is not None:
            return len(self._mean)
        if not self._trunk and self.kind != "q":        # parameters of the critic except those of its inputs
            first, left = (hidden[0], (1 + per_norm) * hidden[0] + deeper + hidden[-1] + 1) if hidden else (1, 1)
            return self._whole(len(critic) - left, first)
        outputs = self._outputs()
        if outputs is None:
            raise UnsupportedError(f"{self.path}: give policy(...) the numbers of an observation: inputs=...")
        own = outputs * (2 if self.kind == "gaussian" else 1)   # bias, and log standard deviations
        if not hidden:
            return self._whole(len(actor) - own, outputs)
        return self._whole(len(actor) - own - hidden[-1] * outputs - deeper - (1 + per_norm) * hidden[0], hidden[0])

    def _find_outputs(self, widths: list[int], actor: np.ndarray) -> int:
        per_norm = 2 if self._has_norm else 0
        before = sum((a + 1 + per_norm) * b for a, b in zip(widths, widths[1:]))
        outputs = self._whole(len(actor) - before, widths[-1] + (2 if self.kind == "gaussian" else 1))
        if (known := self._outputs()) is not None and outputs != known:
            raise self._misfit()
        return outputs

    def _whole(self, numbers: int, divisor: int) -> int:
        if numbers <= 0 or numbers % divisor:
            raise self._misfit()
        return numbers // divisor

    def _misfit(self) -> VersionError:
        return VersionError(f"{self.path}: the weights do not match the settings in config.ini: written by another "
                            "version, or of other inputs, classes or bounds than was said")

    def _cut(self, name: str, theta: np.ndarray, widths: list[int]) -> tuple[list[Layer], np.ndarray]:
        """Splits layers from a vector; returns them and the rest. Each layer: kernel, bias, gain, offset."""
        layers, last = [], len(widths) - 2
        for l, (a, b) in enumerate(zip(widths, widths[1:])):
            has_norm = self._has_norm and l < last
            if len(theta) < a * b + (3 if has_norm else 1) * b:
                raise self._misfit()
            parts = [theta[:a * b].reshape(a, b)]
            theta = theta[a * b:]
            for part in ("b", "gain", "offset")[:3 if has_norm else 1]:
                parts.append(theta[:b])
                theta = theta[b:]
            for part, array in zip(("W", "b", "gain", "offset"), parts):
                self.weights[f"{name}.{part}{l}"] = array
            of = "net.trunk_activation" if name == "actor" and l < self._trunk else "net.activation"
            gain, offset = (parts[2], parts[3]) if has_norm else (None, None)
            layers.append(Layer(parts[0], parts[1], gain, offset, None if l == last else self._activation(of)))
        return layers, theta

    def _activation(self, setting: str) -> str:
        name = self._setting(setting)
        if name not in ("tanh", "relu", "silu", "elu"):
            raise VersionError(f"{self.path}: {setting} = {name}: unknown to this package")
        return name


def _texts(settings: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Converts settings to the texts of config.ini.

    >>> _texts({"net": {"width": 64, "sharing": "joint"}, "eval": {"film": False}})
    {'net.width': '64', 'net.sharing': 'joint', 'eval.film': 'no'}
    """
    return {f"{section}.{name}": ("yes" if value else "no") if isinstance(value, bool) else str(value)
            for section, values in settings.items() for name, value in values.items()}


def _floats(found: files.Checkpoint, name: str, dtype: np.dtype) -> np.ndarray:
    """Returns a section as a read-only array. A run without a critic has no such section, or an empty one."""
    data = found.sections.get(name, b"") if name == "critic" else found.section(name)
    if len(data) % dtype.itemsize:
        raise VersionError(f"{found.path}: \"{name}\" has {len(data)} bytes: written by another version")
    return np.frombuffer(data, dtype=dtype)
