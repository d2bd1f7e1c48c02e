"""Transitions per second of the PPO update alone in PyTorch: separate 3x256 tanh networks, 8 epochs, minibatches of 16 384,
for the observation lengths of S, M and L. As PyTorch is installed, and again where it keeps its memory (rows.py).
Usage: torch_update.py"""
import time

import torch
from rows import THREADS, row, run_kept
from torch import nn

INPUTS = {"s": 140, "m": 247, "l": 679}
BATCH, MINIBATCH, EPOCHS, ITERATIONS, EPSILON = 32768, 16384, 8, 3, 0.2
FACTORS = (3, 3, 3, 3, 2, 2)


def network(inputs, outputs):
    layers, width = [], inputs
    for _ in range(3):
        layers += [nn.Linear(width, 256), nn.Tanh()]
        width = 256
    return nn.Sequential(*layers, nn.Linear(256, outputs))


def evaluate(logits, actions):
    """Log-probability and entropy of the multi-discrete action."""
    total = entropy = 0
    for factor, part in enumerate(torch.split(logits, FACTORS, -1)):
        log_p = torch.log_softmax(part, -1)
        total = total + log_p.gather(1, actions[:, factor:factor + 1])[:, 0]
        entropy = entropy - (log_p.exp() * log_p).sum(-1)
    return total, entropy


def iteration(actor, critic, optimizer, weights, data):
    for _ in range(EPOCHS):
        order = torch.randperm(BATCH)
        for first in range(0, BATCH, MINIBATCH):
            x, actions, old, advantage, target, value = (part[order[first:first + MINIBATCH]] for part in data)
            log_p, entropy = evaluate(actor(x), actions)
            ratio = (log_p - old).exp()
            gain = torch.min(ratio * advantage, ratio.clamp(1 - EPSILON, 1 + EPSILON) * advantage)
            v = critic(x)[:, 0]
            near = value + (v - value).clamp(-EPSILON, EPSILON)
            error = 0.5 * torch.max((v - target) ** 2, (near - target) ** 2)
            loss = -gain.mean() + 0.5 * error.mean() - 0.01 * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 0.5)
            optimizer.step()


def measure(size, inputs):
    actor, critic = network(inputs, sum(FACTORS)), network(inputs, 1)
    weights = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(weights, 3e-4, eps=1e-5, fused=True)
    x = torch.randn(BATCH, inputs)
    actions = torch.stack([torch.randint(0, n, (BATCH,)) for n in FACTORS], 1)
    with torch.no_grad():
        old = evaluate(actor(x), actions)[0]
    data = (x, actions, old, torch.randn(BATCH), torch.randn(BATCH), torch.randn(BATCH))
    times = []
    for _ in range(ITERATIONS):
        start = time.perf_counter()
        iteration(actor, critic, optimizer, weights, data)
        times.append(time.perf_counter() - start)
    row("torch_update_" + size, "update_per_second", BATCH / min(times), "transitions/s", "torch " + torch.__version__)


torch.set_num_threads(THREADS)
for size, inputs in INPUTS.items():
    measure(size, inputs)
run_kept(__file__)
