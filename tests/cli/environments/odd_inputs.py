"""Environments with unusual inputs or outputs, each in one member; for tests/tools/worker_inputs.py."""

import array
import collections
import decimal
import fractions

import gymnasium
import numpy
from gymnasium import spaces

Box = spaces.Box
F32 = numpy.float32


class Plain(gymnasium.Env):
    """Episodes of five steps; accepts only actions in its space."""

    observation_space = Box(-10, 10, (2,), F32)
    action_space = spaces.Discrete(2)

    def see(self):
        return numpy.array([self.t, 1.0], F32)

    def reward(self):
        return 1.0

    def ended(self):
        return self.t >= 5

    def cut(self):
        return False

    def info(self):
        return {}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.see(), self.info()

    def step(self, action):
        assert self.action_space.contains(action), (action, self.action_space)
        self.t += 1
        return self.see(), self.reward(), self.ended(), self.cut(), self.info()


class Tensor:
    """A number or more of another library."""

    def __init__(self, value):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        return numpy.asarray(self.value, dtype)


class Unreadable(dict):
    def __getitem__(self, key):
        raise RuntimeError("nobody needs this")

    items = keys = values = __iter__ = __getitem__


def old_step(self, action):
    return Plain.step(self, action)[:3] + ({},)


def circle():
    info = {}
    info["info"] = info
    return info


GOOD = {  # name: members
    # observations
    "ObsLists": dict(observation_space=Box(-10, 10, (2, 2), F32), see=lambda s: [[s.t, 1], (2, 3.0)]),
    "ObsArray": dict(see=lambda s: array.array("d", [s.t, 1.0])),
    "ObsTensor": dict(see=lambda s: Tensor([s.t, 1.0])),
    "ObsMasked": dict(see=lambda s: numpy.ma.array([s.t, 1.0], mask=[False, True])),
    "ObsBool": dict(see=lambda s: numpy.array([s.t % 2 == 0, True])),
    "ObsNumber": dict(observation_space=Box(-10, 10, (), F32), see=lambda s: s.t),
    "ObsNumberOfOne": dict(observation_space=Box(-10, 10, (1,), F32), see=lambda s: F32(s.t)),
    "ObsRange": dict(see=lambda s: range(s.t, s.t + 2)),
    "ObsStrided": dict(observation_space=Box(-10, 10, (3, 2), F32), see=lambda s: numpy.zeros((2, 6), F32).T[::2] + s.t),
    "ObsFractions": dict(see=lambda s: [fractions.Fraction(s.t, 3), decimal.Decimal("0.5")]),
    "ObsBigEndian": dict(observation_space=Box(-10, 10, (2,), ">f8"), see=lambda s: numpy.array([s.t, 1], ">f8")),
    "ObsDeque": dict(see=lambda s: collections.deque([s.t, 1.0])),
    "ObsBits": dict(observation_space=spaces.MultiBinary((2, 2)), see=lambda s: numpy.eye(2, dtype=numpy.int8)),
    "ObsClass": dict(observation_space=spaces.Discrete(9, start=-1), see=lambda s: numpy.int64(s.t - 1)),
    # infos
    "InfoNames": dict(info=lambda s: {"final_observation": s, "_final_obs": 3, "final_info": len, "episode": "none"}),
    "InfoCircle": dict(info=lambda s: circle()),
    "InfoUnreadable": dict(info=lambda s: Unreadable(a=1)),
    "InfoKeys": dict(info=lambda s: {1: 2, None: 3, (1, 2): [s.t] * s.t}),
    "InfoNone": dict(info=lambda s: None),
    # actions
    "ActBigEndian": dict(action_space=Box(-1, 1, (2,), ">f4")),
    "ActPoint": dict(action_space=Box(0.3, 0.3, (2,), numpy.float64)),
    "ActWide": dict(action_space=Box(-(2**62), 2**62, (2,), numpy.int64)),
    "ActUnsigned": dict(action_space=Box(0, 2**63, (2,), numpy.uint64)),
    "ActTruths": dict(action_space=Box(0, 1, (2,), numpy.bool_)),
    "ActFrom": dict(action_space=spaces.Discrete(3, start=-7)),
    "ActUp": dict(action_space=Box(numpy.array([1.5, -numpy.inf]), numpy.array([numpy.inf, -1.5]), dtype=numpy.float16)),
    "ActSquare": dict(action_space=spaces.MultiDiscrete([[2, 3], [4, 5]])),
    "ActOne": dict(action_space=spaces.Discrete(1)),
    "ActMost": dict(action_space=spaces.Discrete(255)),
    # rewards
    "RewardSquare": dict(reward=lambda s: numpy.array([[1.0]])),
    "RewardTensor": dict(reward=lambda s: Tensor([1.0])),
    "RewardList": dict(reward=lambda s: [1.0]),
    "RewardDecimal": dict(reward=lambda s: decimal.Decimal("0.5")),
    # ends
    "EndArray": dict(ended=lambda s: numpy.array([s.t >= 5])),
    "EndTensor": dict(ended=lambda s: Tensor(s.t >= 5)),
    "EndNone": dict(ended=lambda s: None if s.t < 5 else True),
    "EndFloat": dict(ended=lambda s: float(s.t >= 5)),
    "EndBoth": dict(cut=lambda s: s.t >= 5),
    # what reset and step give
    "PartsInLists": dict(reset=lambda s, seed=None, options=None: list(Plain.reset(s)), step=lambda s, a: list(Plain.step(s, a))),
}
BAD = {  # name: members, what the message says
    "ObsWords": (dict(see=lambda s: ["1", "two"]), "gave an observation that is not in Box"),
    "ObsRagged": (dict(see=lambda s: [[1.0], 2.0]), "gave an observation that is not in Box"),
    "ObsNone": (dict(see=lambda s: None), "gave (), not (2,)"),
    "ObsKeyMissing": (dict(observation_space=spaces.Dict({"a": Box(0, 9, (2,)), "b": spaces.Discrete(3)}),
                           see=lambda s: {"a": numpy.zeros(2, F32)}), "gave an observation that is not in Dict"),
    "ObsGraph": (dict(observation_space=spaces.Dict({"g": spaces.Graph(Box(0, 1, (2,)), None)})), "observations['g'] of Graph"),
    "ObsNan": (dict(see=lambda s: [numpy.nan, s.t]), "world 0 gave observations that are not finite"),
    "ObsClassBeyond": (dict(observation_space=spaces.Discrete(3), see=lambda s: 3 + s.t), "gave an observation that is not in Discrete(3)"),
    "RewardTwo": (dict(reward=lambda s: numpy.array([1.0, 2.0])), "gave the reward array([1., 2.]), which is not a number"),
    "RewardHuge": (dict(reward=lambda s: 10**400), "which is not a number"),
    "RewardComplex": (dict(reward=lambda s: 1j), "gave the reward 1j, which is not a number"),
    "RewardText": (dict(reward=lambda s: "1.0"), "gave the reward '1.0', which is not a number"),
    "RewardNan": (dict(reward=lambda s: numpy.float32("nan")), "world 0 gave rewards that are not finite"),
    "EndText": (dict(ended=lambda s: "False"), "gave the end 'False', which is not a number"),
    "EndTwo": (dict(cut=lambda s: numpy.array([True, False])), "which is not a number"),
    "PartsFour": (dict(step=old_step), "step of world 0 gave 4 values instead of observation, reward, terminated, truncated, info"),
    "PartsNone": (dict(step=lambda s, a: None), "step of world 0 gave a NoneType instead of"),
    "PartsOneAtReset": (dict(reset=lambda s, seed=None, options=None: Plain.reset(s)[0]), "reset of world 0 gave a ndarray instead of observation, info"),
    "PartsNoneAtReset": (dict(reset=lambda s, seed=None, options=None: None), "reset of world 0 gave a NoneType instead of"),
    "ActEmpty": (dict(action_space=Box(-1, 1, (0,), F32)), "have no numbers"),
    "ActTuple": (dict(action_space=spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3)))), "actions of Tuple"),
    "ActText": (dict(action_space=spaces.Text(3)), "actions of Text"),
}

for name, members in {**GOOD, **{name: members for name, (members, _) in BAD.items()}}.items():
    gymnasium.register(f"{name}-v0", entry_point=type(name, (Plain,), members))
