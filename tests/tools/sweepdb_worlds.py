"""Checks of python/sweepdb's environments; prints "name<TAB>problem" lines (tests/cli/test_python.sh).

usage: sweepdb_worlds.py LEVEL_FILE
"""
import sys

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import sweepdb
from sweepdb import libsim, worlds
from sweepdb_check import check, raises, run_doctests

CAR = "loco512:car:0"
KINDS = ("multi_discrete", "discrete", "continuous")


def play(env, steps=60, seed=5):
    """All that `steps` steps of drawn actions give, from reset(seed) on."""
    env.action_space.seed(seed)
    found = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        observations, rewards, terminations, truncations, infos = env.step(env.action_space.sample())
        found += [observations, rewards, terminations, truncations, *infos.values()]
    return found


def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b))


def check_spaces():
    for kind in KINDS:
        env = sweepdb.KinetixVectorEnv(5, CAR, max_steps=16, actions=kind)
        env.action_space.seed(0)
        observations, infos = env.reset(seed=1)
        ended = 0
        for step in range(40):
            assert env.observation_space.contains(observations) and infos is not None
            observations, rewards, terminations, truncations, infos = env.step(env.action_space.sample())
            assert rewards.shape == terminations.shape == truncations.shape == (5,)
            assert (rewards.dtype, terminations.dtype, truncations.dtype) == (np.float64, np.bool_, np.bool_)
            assert not truncations.any() and (terminations >= infos["solved"]).all()
            assert (infos["episode_steps"][terminations] <= 16).all()
            ended += terminations.sum()
        assert ended >= 10, ended
        assert env.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.SAME_STEP
        env.close()


def check_seeds():
    env, same = sweepdb.KinetixVectorEnv(6, CAR), sweepdb.KinetixVectorEnv(6, CAR, copy=False)
    first = play(env)
    assert equal(first, play(env)) and not equal(first, play(env, seed=6))
    same.action_space.seed(5)
    at = iter(first)
    assert np.array_equal(same.reset(seed=5)[0], next(at))
    for _ in range(60):
        observations, rewards, terminations, truncations, infos = same.step(same.action_space.sample())
        assert equal([observations, rewards, terminations, truncations, *infos.values()], [next(at) for _ in range(7)])
    env.reset(seed=5)
    again = env.reset()[0]
    assert not np.array_equal(again, first[0]), "a reset without a seed goes on"


def check_libsim():
    """The same worlds through plain calls of libsim."""
    env = sweepdb.KinetixVectorEnv(7, "s", level_count=4, reset="new", threads=2)
    options = libsim.load().libsim_options_default()
    options.worlds, options.seed, options.reset = 7, 11, libsim.RESETS.index("new")
    batch = libsim.Batch(options, libsim.Levels("s", 4, 0))
    observations, reward = np.empty((7, batch.length), np.float32), np.empty(7, np.float32)
    batch.reset(observations.ctypes.data)
    assert np.array_equal(env.reset(seed=11)[0], observations)
    draw = np.random.default_rng(3)
    for _ in range(300):
        actions = draw.integers(0, [3, 3, 3, 3, 2, 2], (7, 6))
        plain = actions.astype(np.uint8)
        batch.step(plain.ctypes.data, libsim.Step(observations.ctypes.data, reward.ctypes.data))
        found = env.step(actions)
        assert np.array_equal(found[0], observations) and np.array_equal(found[1], reward)


def check_level(path):
    env = sweepdb.KinetixVectorEnv(3, CAR)
    env.reset(seed=0, options={"level": [2, 0, 1]})
    assert env.step(env.action_space.sample())[4]["level"].tolist() == [2, 0, 1]
    env = sweepdb.KinetixVectorEnv(2, path)
    assert env.reset(seed=0)[0].shape[0] == 2 and env.draw(1, 64).startswith("<")


def check_single():
    for kind in KINDS:
        check_env(sweepdb.KinetixEnv(CAR, max_steps=30, actions=kind), skip_render_check=True)
    env = sweepdb.KinetixEnv(CAR, max_steps=5)
    env.reset(seed=0)
    ends = [env.step(np.array([0] * 6))[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)], ends
    last = []
    for motors in (1, 2):                       # away from blue, or nearer: what is paid for it tells no end
        env = sweepdb.KinetixEnv(CAR, max_steps=5, dense_reward=1000.0)
        env.reset(seed=0)
        ends = [env.step(np.array([motors] * 4 + [0] * 2))[1:4] for _ in range(5)]
        assert [end[1:] for end in ends] == [(False, False)] * 4 + [(False, True)], ends
        last.append(ends[-1][0])
    assert min(last) < -0.5, last


def check_final():
    """final_obs as Gymnasium's own vector environments have it, and as worlds show it that go on after their end."""
    own = gymnasium.vector.SyncVectorEnv([lambda: sweepdb.KinetixEnv(CAR, max_steps=5)] * 3,
                                         autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
    env = sweepdb.KinetixVectorEnv(3, CAR, max_steps=5)
    options = libsim.load().libsim_options_default()
    options.worlds, options.seed, options.max_steps, options.auto_reset = 3, 9, 5, 0
    plain = libsim.Batch(options, libsim.Levels(CAR, 64, 0))
    shown = np.empty((3, plain.length), np.float32)
    own.reset(seed=9), env.reset(seed=9), plain.reset(shown.ctypes.data)
    actions = np.tile(np.array([1, 2, 0, 1, 0, 1], np.uint8), (3, 1))
    for _ in range(4):
        infos = env.step(actions)[4]
        plain.step(actions.ctypes.data, libsim.Step(shown.ctypes.data))
        assert "final_obs" not in infos and "final_obs" not in own.step(actions)[4]
    observations, _, ended, _, infos = env.step(actions)
    plain.step(actions.ctypes.data, libsim.Step(shown.ctypes.data))
    wanted = own.step(actions)[4]
    assert ended.all() and set(infos) - {"solved", "level", "episode_steps"} == set(wanted), (set(infos), set(wanted))
    assert set(infos["final_info"]) == set(wanted["final_info"])
    for name in ("final_obs", "_final_obs", "_final_info"):
        assert infos[name].dtype == wanted[name].dtype and infos[name].shape == wanted[name].shape, name
    assert np.array_equal(np.stack(infos["final_obs"]), shown) and not np.array_equal(observations, shown)
    assert infos["final_info"]["episode_steps"].tolist() == [5] * 3

    env = sweepdb.KinetixVectorEnv(8, "s", level_count=4, max_steps=64)
    env.reset(seed=2), env.action_space.seed(2)
    some = 0
    for _ in range(100):
        ended, infos = env.step(env.action_space.sample())[2:5:2]
        if ended.any():
            assert np.array_equal(infos["_final_obs"], ended)
            assert [row is not None for row in infos["final_obs"]] == ended.tolist()
            assert all(env.single_observation_space.contains(row) for row in infos["final_obs"][ended])
            assert not infos["final_info"]["episode_steps"][~ended].any()
            some += 0 < ended.sum() < 8
    assert some, "some worlds end while others go on"


def check_wrappers():
    env = RecordEpisodeStatistics(sweepdb.KinetixVectorEnv(4, CAR, max_steps=8))
    env.reset(seed=0)
    for _ in range(8):
        infos = env.step(np.zeros((4, 6), np.int64))[4]
    assert infos["episode"]["l"].tolist() == [8] * 4, infos["episode"]


def check_actions():
    def after(action):
        env = sweepdb.KinetixVectorEnv(2, CAR, actions="discrete")
        env.reset(seed=0)
        for _ in range(20):
            found = env.step(np.array([action, action]))[0]
        return found

    assert np.array_equal(after(257), after(8)) and np.array_equal(after(-1), after(8))
    assert not np.array_equal(after(1), after(8))
    env = sweepdb.KinetixVectorEnv(2, CAR)
    env.reset(seed=0)
    for bad in (np.zeros((3, 6), int), np.zeros(2, int), [[0] * 6]):
        raises(sweepdb.Error, "must be (2, 6)", lambda: env.step(bad))
    raises(sweepdb.Error, "must be integers", lambda: env.step(np.zeros((2, 6))))


def check_refusals():
    make = sweepdb.KinetixVectorEnv
    raises(sweepdb.LibraryError, "nowhere", lambda: make(2, "nowhere.json"))
    raises(sweepdb.LibraryError, "bicycle", lambda: make(2, "loco512:bicycle"))
    raises(sweepdb.LibraryError, "worlds must be at least 1", lambda: make(0, CAR))
    raises(sweepdb.Error, "must be one of", lambda: make(2, CAR, actions="none"))
    raises(sweepdb.Error, "not an option of libsim", lambda: make(2, CAR, frames=2))
    raises(sweepdb.Error, "KinetixEnv has none", lambda: make(2, CAR, auto_reset=0))
    env = make(2, CAR)
    raises(sweepdb.Error, "one number", lambda: env.reset(seed=[1, 2]))
    raises(sweepdb.LibraryError, "level", lambda: env.reset(options={"level": [0, 10**6]}))
    env.close()
    raises(sweepdb.LibraryError, "", lambda: env.step(np.zeros((2, 6), int)))


check("spaces, shapes and types of all kinds of actions", check_spaces)
check("a seed gives the same worlds, none gives others", check_seeds)
check("the numbers are libsim's, bit for bit", check_libsim)
check("levels by number and from a file", lambda: check_level(sys.argv[1]))
check("the single world passes Gymnasium's check_env", check_single)
check("the last observation of an episode is Gymnasium's final_obs", check_final)
check("Gymnasium's wrappers take the vector environment", check_wrappers)
check("actions that there are not do nothing, others are refused", check_actions)
check("what libsim refuses is said in its words", check_refusals)
check("doctests of the worlds", lambda: run_doctests(6, worlds))
check("end", lambda: None)
