"""PPO on libsim's worlds, in the manner of CleanRL's ppo.py: one file, Gymnasium's vector interface, PyTorch.

    python python/examples/ppo.py [ITERATIONS] [WORLDS] [LEVELS]

Prints transitions, and mean return and solve rate of the latest 4 * WORLDS episodes, one line an iteration.
"""
from __future__ import annotations

import sys
from collections import deque

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import sweepdb

ITERATIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
WORLDS = int(sys.argv[2]) if len(sys.argv) > 2 else 256
LEVELS = sys.argv[3] if len(sys.argv) > 3 else "s"
STEPS, EPOCHS, MINIBATCHES = 64, 4, 8
GAMMA, LAMBDA, EPSILON, ENTROPY, VALUE, NORM, RATE = 0.995, 0.95, 0.2, 0.01, 0.5, 0.5, 5e-4


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    def __init__(self, features: int, classes: list[int]) -> None:
        super().__init__()
        self.classes = classes
        self.actor = nn.Sequential(layer(features, 128), nn.Tanh(), layer(128, 128), nn.Tanh(),
                                   layer(128, sum(classes), 0.01))
        self.critic = nn.Sequential(layer(features, 128), nn.Tanh(), layer(128, 128), nn.Tanh(), layer(128, 1, 1.0))

    def act(self, x: torch.Tensor, actions: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        """x [rows][features] -> actions [rows][factors], their log probability and the entropy [rows]."""
        policies = [Categorical(logits=part) for part in self.actor(x).split(self.classes, dim=-1)]
        if actions is None:
            actions = torch.stack([policy.sample() for policy in policies], dim=-1)
        logp = sum(policy.log_prob(actions[:, i]) for i, policy in enumerate(policies))
        return actions, logp, sum(policy.entropy() for policy in policies)


def advantages_of(rewards: torch.Tensor, ends: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """GAE. rewards, ends [steps][worlds]; values [steps + 1][worlds]."""
    advantages, last = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        going_on = 1 - ends[t]
        delta = rewards[t] + GAMMA * values[t + 1] * going_on - values[t]
        advantages[t] = last = delta + GAMMA * LAMBDA * going_on * last
    return advantages


def update(agent: Agent, optimizer: torch.optim.Optimizer, x: torch.Tensor, actions: torch.Tensor,
           logp: torch.Tensor, advantages: torch.Tensor, returns: torch.Tensor) -> None:
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).chunk(MINIBATCHES):
            _, new_logp, entropy = agent.act(x[rows], actions[rows])
            ratio, a = (new_logp - logp[rows]).exp(), advantages[rows]
            a = (a - a.mean()) / (a.std() + 1e-8)
            policy = -torch.min(ratio * a, ratio.clamp(1 - EPSILON, 1 + EPSILON) * a).mean()
            value = 0.5 * (agent.critic(x[rows])[:, 0] - returns[rows]).square().mean()
            optimizer.zero_grad()
            (policy + VALUE * value - ENTROPY * entropy.mean()).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), NORM)
            optimizer.step()


def main() -> None:
    torch.manual_seed(1)
    worlds = sweepdb.KinetixVectorEnv(WORLDS, LEVELS)
    agent = Agent(worlds.single_observation_space.shape[0], worlds.single_action_space.nvec.tolist())
    optimizer = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
    x = torch.from_numpy(worlds.reset(seed=1)[0])
    returns_now, latest = np.zeros(WORLDS), deque[tuple[float, bool]](maxlen=4 * WORLDS)
    for iteration in range(1, ITERATIONS + 1):
        seen, taken, logps, rewards, ends = [], [], [], [], []
        for _ in range(STEPS):
            with torch.no_grad():
                actions, logp, _ = agent.act(x)
            seen.append(x)
            taken.append(actions)
            logps.append(logp)
            observations, reward, terminated, truncated, infos = worlds.step(actions.numpy())
            done = terminated | truncated
            returns_now += reward
            latest.extend(zip(returns_now[done], infos["solved"][done]))
            returns_now[done] = 0
            rewards.append(torch.from_numpy(reward).float())
            ends.append(torch.from_numpy(done).float())
            x = torch.from_numpy(observations)
        with torch.no_grad():
            values = agent.critic(torch.stack([*seen, x]))[..., 0]
            advantages = advantages_of(torch.stack(rewards), torch.stack(ends), values)
        update(agent, optimizer, torch.cat(seen), torch.cat(taken), torch.cat(logps), advantages.flatten(),
               (advantages + values[:-1]).flatten())
        of_episodes = np.mean(latest, axis=0) if latest else [np.nan, np.nan]
        print(f"{iteration * STEPS * WORLDS}\t{of_episodes[0]:.3f}\t{of_episodes[1]:.3f}", flush=True)
    worlds.close()


if __name__ == "__main__":
    main()
