"""The update of tests/bench/bench_convolution.c in PyTorch: the same networks, shapes, minibatches and epochs, and
CleanRL's way to keep a rollout (pixels as float32) and to step (Adam and clipping one after the other). As PyTorch is
installed, and again where it keeps its memory (rows.py).
Usage: torch_convolution.py"""
import time

import torch
from rows import THREADS, row, run_kept
from torch import nn
from torch.nn import functional


class Nature(nn.Module):
    """Pictures as [rows][frames][height][width]."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(),
            nn.Flatten(), nn.Linear(3136, 512), nn.ReLU())
        self.policy, self.value = nn.Linear(512, 4), nn.Linear(512, 1)

    def forward(self, x):
        return self.layers(x / 255)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))

    def forward(self, x):
        return x + self.second(functional.relu(self.first(functional.relu(x))))


class Impala(nn.Module):
    """Pictures as [rows][height][width][colors]."""

    def __init__(self):
        super().__init__()
        layers, below = [], 3
        for channels in (16, 32, 32):
            layers += [nn.Conv2d(below, channels, 3, padding=1), nn.MaxPool2d(3, 2, 1), Block(channels), Block(channels)]
            below = channels
        self.layers = nn.Sequential(*layers, nn.Flatten(), nn.ReLU(), nn.Linear(2048, 256), nn.ReLU())
        self.policy, self.value = nn.Linear(256, 15), nn.Linear(256, 1)

    def forward(self, x):
        return self.layers(x.permute(0, 3, 1, 2) / 255)


def minibatch(network, optimizer, rows, epsilon=0.1):
    x, actions, old, advantage, target, value = rows
    hidden = network(x)
    log_p = torch.log_softmax(network.policy(hidden), -1)
    entropy = -(log_p.exp() * log_p).sum(-1)
    ratio = (log_p.gather(1, actions[:, None])[:, 0] - old).exp()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    loss = torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - epsilon, 1 + epsilon)).mean()
    v = network.value(hidden)[:, 0]
    near = value + (v - value).clamp(-epsilon, epsilon)
    error = 0.5 * torch.max((v - target) ** 2, (near - target) ** 2).mean()
    optimizer.zero_grad()
    (loss - 0.01 * entropy.mean() + 0.5 * error).backward()
    nn.utils.clip_grad_norm_(network.parameters(), 0.5)
    optimizer.step()


def measure(name, network, shape, actions, batch, minibatches, epochs, updates):
    optimizer = torch.optim.Adam(network.parameters(), 2.5e-4, eps=1e-5)
    x = torch.randint(0, 256, (batch, *shape), dtype=torch.uint8).float()
    data = [x, torch.randint(0, actions, (batch,)), torch.full((batch,), -1.4), *torch.randn(3, batch)]
    size, times = batch // minibatches, []
    for _ in range(2):  # warms up
        minibatch(network, optimizer, [part[:size] for part in data])
    for _ in range(updates):
        start = time.perf_counter()
        for _ in range(epochs):
            order = torch.randperm(batch)
            for first in range(0, batch, size):
                minibatch(network, optimizer, [part[order[first:first + size]] for part in data])
        times.append(time.perf_counter() - start)
    seconds, version = sorted(times)[len(times) // 2], "torch " + torch.__version__
    print(f"# {name}: {sum(p.numel() for p in network.parameters())} parameters in PyTorch, {seconds:.3f} s")
    row(name, "update_per_second", batch * epochs / seconds, "rows/s", version)


torch.set_num_threads(THREADS)
measure("update_nature", Nature(), (4, 84, 84), 4, 8 * 128, 4, 4, 5)
measure("update_impala", Impala(), (64, 64, 3), 15, 64 * 256, 8, 1, 1)
run_kept(__file__)
