"""Stable-Baselines3's PPO on libsim's worlds: a small adapter from Gymnasium's vector interface to theirs.

    pip install './python[env]' stable-baselines3
    python python/examples/sb3_ppo.py [TRANSITIONS] [SEED]

Prints transitions, and mean return and solve rate of the latest 480 episodes, one line every ten iterations; and the solve
rate of the first episodes of 480 other worlds, before and after.
"""
from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

import sweepdb

WORLDS, STEPS, LEVELS = 32, 64, "loco512:car+wheelfeet+tree:0+1"


class Worlds(VecEnv):
    """A KinetixVectorEnv as a VecEnv. What infos say of an episode's end is `solved` and the last observation."""

    def __init__(self, worlds: sweepdb.KinetixVectorEnv) -> None:
        self.worlds, self.render_mode = worlds, None
        super().__init__(worlds.num_envs, worlds.single_observation_space, worlds.single_action_space)
        self._actions: np.ndarray | None = None

    def reset(self) -> np.ndarray:
        seed = self._seeds[0]
        self._reset_seeds()
        return self.worlds.reset(seed=seed)[0]

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, terminations, truncations, given = self.worlds.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = terminations | truncations
        for world in np.flatnonzero(ended):
            infos[world] = {"solved": bool(given["solved"][world]), "terminal_observation": given["final_obs"][world],
                            "TimeLimit.truncated": bool(truncations[world])}
        return observations, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        self.worlds.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.worlds, attr_name)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError("worlds share all attributes: set those of .worlds")

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **named: Any) -> list[Any]:
        raise NotImplementedError("worlds share all methods: call those of .worlds")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self._count(indices)

    def _count(self, indices: Any) -> int:
        return len(list(self._get_indices(indices)))


class Print(BaseCallback):
    """A line every ten iterations."""

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        episodes = self.model.ep_info_buffer
        if episodes and self.num_timesteps // (WORLDS * STEPS) % 10 == 0:
            of_episodes = np.mean([(episode["r"], episode["solved"]) for episode in episodes], axis=0)
            print(f"{self.num_timesteps}\t{of_episodes[0]:.3f}\t{of_episodes[1]:.3f}", flush=True)


def solve_rate(model: PPO, episodes: int = 480) -> float:
    """Of the first episode of each world: of later ones, short episodes would be more than their share."""
    worlds = sweepdb.KinetixVectorEnv(episodes, LEVELS, level_count=24, max_steps=256)
    observations = worlds.reset(seed=10_000)[0]
    solved, ended = np.zeros(episodes, bool), np.zeros(episodes, bool)
    for _ in range(256):
        observations, _, terminations, _, infos = worlds.step(model.predict(observations)[0])
        solved |= infos["solved"] & ~ended
        ended |= terminations
    worlds.close()
    return float(solved.mean())


def main(transitions: int, seed: int) -> None:
    worlds = VecMonitor(Worlds(sweepdb.KinetixVectorEnv(WORLDS, LEVELS, level_count=24)), info_keywords=("solved",))
    model = PPO("MlpPolicy", worlds, n_steps=STEPS, batch_size=WORLDS * STEPS // 4, n_epochs=8, learning_rate=3e-3,
                gamma=0.995, gae_lambda=0.9, ent_coef=0.01, seed=seed, device="cpu", stats_window_size=480,
                policy_kwargs={"net_arch": [64, 64], "activation_fn": torch.nn.Tanh})
    print(f"untrained\t{solve_rate(model):.3f}", flush=True)
    model.learn(transitions, callback=Print())
    print(f"trained\t{solve_rate(model):.3f}")
    worlds.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
