"""Plays a game by ale-py's own AtariVectorEnv and prints the output of tests/cli/cli_env.c for the trainer's.

    atari.py ROM WORLDS STEPS SEED LIVES [OPTION=VALUE ...]

LIVES 1: a lost life ends the episode, found by counting lives. A life begins as with CleanRL's wrappers: NOOP after a
lost one, then, in games that have it, FIRE and action 2; frames before the first are copies of it. All worlds use one
vector environment, except with LIVES 1, where they play sequentially.
"""

import ast
import sys

import numpy
from ale_py.vector_env import AtariVectorEnv
from seeds import world_seed

rom, worlds, steps, seed, lives = sys.argv[1], *(int(word) for word in sys.argv[2:6])
options = {key: ast.literal_eval(value) for key, value in (word.split("=") for word in sys.argv[6:])}
options = {"autoreset_mode": "SameStep", "reward_clipping": False} | options


def fnv(data):
    value = 14695981039346656037
    for byte in data.tobytes():
        value = (value ^ byte) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def action(t, world, count):
    return (5 * t + 3 * world + t // 7) % count


def line(t, world, shown, reward=0, done=0, truncated=0, end=0, length=0, last=None):
    lines[t, world] = f"{t} {world} {fnv(shown)} {reward:g} {done:d} {truncated:d} {end:d} {length} " + (
        fnv(last) if done else "0" * 16
    )


def play_together():
    env = AtariVectorEnv(rom, worlds, **options)
    count, length = env.single_action_space.n, [0] * worlds
    shown = env.reset(seed=numpy.array([world_seed(seed, world) for world in range(worlds)]))[0]
    for world in range(worlds):
        line(-1, world, shown[world])
    for t in range(steps):
        actions = numpy.array([action(t, world, count) for world in range(worlds)])
        shown, rewards, terminated, truncated, info = env.step(actions)
        for world in range(worlds):
            done = terminated[world] or truncated[world]
            length[world] += 1
            line(t, world, shown[world], rewards[world], done, truncated[world], done, length[world],
                 info["final_obs"][world] if done else None)
            length[world] = 0 if done else length[world]


def play_lives(world):
    fire = options.get("use_fire_reset", True)
    env = AtariVectorEnv(rom, 1, **options | {"use_fire_reset": False})
    names = [known.name for known in env.ale.get_action_set()]
    starts = [names.index("FIRE"), 2] if fire and "FIRE" in names else []
    env.reset(seed=world_seed(seed, world))

    def begin(actions):
        """The first frame of a life, its lives and rewards."""
        rewards = 0
        for number in actions:
            shown, reward, terminated, truncated, info = env.step(numpy.array([number]))
            assert not terminated[0] and not truncated[0]
            rewards += reward[0]
        return [shown[0][-1]] * 4, info["lives"][0], rewards

    def see():
        return numpy.stack(seen[-4:])

    if starts:
        seen, left, _ = begin(starts)
    else:
        shown, info = env.reset(seed=world_seed(seed, world))
        seen, left = [shown[0][-1]] * 4, info["lives"][0]
    line(-1, world, see())
    length = 0
    for t in range(steps):
        shown, reward, terminated, truncated, info = env.step(numpy.array([action(t, world, len(names))]))
        length += 1
        over = bool(terminated[0] or truncated[0])
        lost = not over and 0 < info["lives"][0] < left
        seen.append((info["final_obs"] if over else shown)[0][-1])
        last, reward, left = see(), reward[0], info["lives"][0]
        if over and not starts:
            seen = [shown[0][-1]] * 4
        elif over or lost:
            seen, left, more = begin(starts if over else [0] + starts)
            reward += more
        line(t, world, see(), reward, over or lost, over and bool(truncated[0]), over, length, last)
        length = 0 if over else length


lines = {}
if lives:
    for world in range(worlds):
        play_lives(world)
else:
    play_together()
for key in sorted(lines):
    print(lines[key])
