"""Makes regularizers_golden.h: decoupled weight decay, learning-rate schedules, KL penalties and early stopping, as
PyTorch and Stable-Baselines3 compute them.

    pip install torch stable-baselines3
    python make_regularizers.py > regularizers_golden.h

PyTorch 2.15.0 and Stable-Baselines3 2.7.0 made the current file."""
import math
import warnings

import numpy as np
import torch
from stable_baselines3 import PPO

torch.set_num_threads(1)
warnings.filterwarnings("ignore")


def array(name, values, kind="float", form="%.9g"):
    values = np.asarray(values)
    suffix = "".join("[%d]" % n for n in values.shape)
    text = ", ".join(form % v for v in values.ravel())
    lines, line = [], " "
    for word in text.split(" "):
        if len(line) + len(word) > 110:
            lines.append(line)
            line = " "
        line += " " + word
    print("static const %s golden_%s%s = {" % (kind, name, suffix.replace("][", " * ")))
    print("\n".join(lines + [line]) + "\n};")


print("/* Made by make_regularizers.py. */")

# ---- AdamW: 7 parameters, 20 steps, the learning rate changes
rng = np.random.RandomState(1)
start, gradients = rng.randn(7).astype("f"), rng.randn(20, 7).astype("f")
rates = 0.01 * (1 - np.arange(20) / 20)
theta = torch.nn.Parameter(torch.tensor(start))
optimizer = torch.optim.AdamW([theta], lr=0.01, betas=(0.9, 0.999), eps=1e-5, weight_decay=3.0)
for rate, gradient in zip(rates, gradients):
    optimizer.param_groups[0]["lr"] = float(rate)
    theta.grad = torch.tensor(gradient)
    optimizer.step()
array("adamw_start", start)
array("adamw_gradient", gradients)
array("adamw_rate", rates, "double", "%.17g")
array("adamw_end", theta.detach().numpy())

# ---- schedules over 20 iterations, 5 of them warm-up
ITERATIONS, WARM = 20, 5


def schedule(after, warm):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
    last = after(optimizer, ITERATIONS - warm)
    if warm:
        first = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / (warm + 1), 1.0, warm)
        last = torch.optim.lr_scheduler.SequentialLR(optimizer, [first, last], [warm])
    rates = []
    for _ in range(ITERATIONS):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        last.step()
    return rates


for name, after in (("cosine", lambda o, n: torch.optim.lr_scheduler.CosineAnnealingLR(o, n)),
                    ("linear", lambda o, n: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.0, n)),
                    ("constant", lambda o, n: torch.optim.lr_scheduler.ConstantLR(o, 1.0, n))):
    array(name, schedule(after, 0), "double", "%.17g")
    array(name + "_warm", schedule(after, WARM), "double", "%.17g")

# ---- 0.7 E[KL(old || new)] by automatic differentiation
old, new = rng.randn(5, 8).astype("f"), rng.randn(5, 8).astype("f")
logits = torch.tensor(new.astype("d"), requires_grad=True)
reference = torch.tensor(old.astype("d"))
kl = sum(torch.distributions.kl_divergence(torch.distributions.Categorical(logits=reference[:, a:b]),
                                           torch.distributions.Categorical(logits=logits[:, a:b]))
         for a, b in ((0, 3), (3, 6), (6, 8)))
(0.7 * kl.mean()).backward()
array("kl_old", old)
array("kl_new", new)
array("categorical_gradient", logits.grad.numpy())
print("static const double golden_categorical_kl = %.17g;" % kl.sum().item())
logits = torch.tensor(new.astype("d"), requires_grad=True)
kl = torch.distributions.kl_divergence(torch.distributions.Normal(reference[:, :4], reference[:, 4:].exp()),
                                       torch.distributions.Normal(logits[:, :4], logits[:, 4:].exp())).sum(1)
(0.7 * kl.mean()).backward()
array("gaussian_gradient", logits.grad.numpy())
print("static const double golden_gaussian_kl = %.17g;" % kl.sum().item())

# ---- early stopping: Stable-Baselines3's PPO, 4 epochs of 4 minibatches of 8 rows
EPOCHS, BATCH, ROWS = 4, 8, 32


def train(target):
    """The log-probabilities of each minibatch before its step, and the number of steps."""
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=ROWS, batch_size=BATCH, n_epochs=EPOCHS, target_kl=target, seed=4,
                learning_rate=4e-3, device="cpu")
    seen, steps = [], [0]
    evaluate, step, get = model.policy.evaluate_actions, model.policy.optimizer.step, model.rollout_buffer.get
    current = []

    def record_rows(size):
        for rows in get(size):
            current[:] = [rows.old_log_prob]
            yield rows

    def record(observations, actions):
        values, logp, entropy = evaluate(observations, actions)
        seen.append((logp.detach().numpy().copy(), current[0].numpy().copy()))
        return values, logp, entropy

    def count(*arguments, **more):
        steps[0] += 1
        return step(*arguments, **more)

    model.policy.evaluate_actions, model.policy.optimizer.step = record, count
    model.rollout_buffer.get = record_rows
    model.learn(ROWS)
    return seen, steps[0]


def cleanrl_steps(seen, target):
    """CleanRL's ppo.py: after each epoch, if approx_kl > target_kl: break."""
    for epoch in range(EPOCHS):
        logratio = seen[(epoch + 1) * ROWS // BATCH - 1]
        logratio = torch.tensor(logratio[0] - logratio[1])
        approx_kl = ((logratio.exp() - 1) - logratio).mean()
        if approx_kl > target:
            break
    return (epoch + 1) * ROWS // BATCH


seen, steps = train(None)
assert steps == len(seen) == EPOCHS * ROWS // BATCH
TARGETS = (0.0005, 0.002, 0.006, 0.012, 0.02, 1.0)
array("logp", [s[0] for s in seen])
array("old_logp", [s[1] for s in seen])
array("target_kl", TARGETS, "double")
array("steps_minibatch", [train(target)[1] for target in TARGETS], "int", "%d")
array("steps_epoch", [cleanrl_steps(seen, target) for target in TARGETS], "int", "%d")

# ---- adaptive KL penalty (Schulman et al. 2017, section 4), target 0.01
kls, coefficient, coefficients = [0.001, 0.02, 0.0151, 0.0149, 0.01, 0.00667, 0.0066, 1.0, 0.0], 1.0, []
for d in kls:
    if d < 0.01 / 1.5:
        coefficient /= 2
    elif d > 0.01 * 1.5:
        coefficient *= 2
    coefficients.append(coefficient)
array("penalty_kl", kls, "double")
array("penalty", coefficients, "double")

# ---- batch-size invariance (Hilton et al. 2022): batches c times as large, averages of as many samples
FACTORS = (0.25, 4, 16)
beta_proximal, beta_advantage = 1 - 1 / (1 + 64), 0.9


def scaled(beta, c):
    center = 1 / (1 - beta) - 1
    return 1 - 1 / (1 + center / c)


array("invariant_factor", FACTORS, "double")
array("invariant_rate", [3e-4 * math.sqrt(c) for c in FACTORS], "double", "%.17g")
array("invariant_com", [1 / (1 - scaled(beta_proximal, c)) - 1 for c in FACTORS], "double", "%.17g")
array("invariant_decay", [scaled(beta_advantage, c) for c in FACTORS], "double", "%.17g")
