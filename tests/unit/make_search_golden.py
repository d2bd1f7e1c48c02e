"""Makes the numbers of search_golden.h: Sobol' points of scipy, and densities of Optuna's Parzen estimators.

    pip install optuna scipy
    python make_search_golden.py > search_golden.h

Optuna 5.0.0 and scipy 1.17.1 made the current ones."""
import functools

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator, _ParzenEstimatorParameters
from optuna.samplers._tpe.sampler import default_gamma, default_weights
from scipy.stats import qmc

np.argsort = functools.partial(np.argsort, kind="stable")  # equal values: in the trials' order on every machine
DIMENSIONS, POINTS = 32, (1, 2, 3, 7, 100, 1023, 4095)
points = qmc.Sobol(DIMENSIONS, scramble=False, bits=32).random(4096)

print("/* Made by make_search_golden.py, with Optuna %s. */" % optuna.__version__)
print("static const struct { uint32_t index, dimension, point; } golden_sobol[] = {")
for index in POINTS:
    print("  " + " ".join("{%d, %d, 0x%08x}," % (index, d, int(points[index, d] * 2**32)) for d in (0, 1, 2, 5, 13, 30, 31)))
print("};")
total = np.zeros(DIMENSIONS, dtype=np.uint64)
for row in points:
    total = (total * np.uint64(31) + (row * 2**32).astype(np.uint64)) & np.uint64(2**32 - 1)
print("static const uint32_t golden_sobol_hash[%d] = {%s};" % (DIMENSIONS, ", ".join("0x%08x" % t for t in total)))

SPACE = {"lr": FloatDistribution(1e-5, 1e-2, log=True), "epochs": IntDistribution(1, 8),
         "eps": CategoricalDistribution((0.1, 0.2, 0.4)), "gae": FloatDistribution(0.8, 1.0),
         "com": IntDistribution(8, 512, log=True)}
rng = np.random.RandomState(7)


def draw(n):
    return {"lr": np.exp(rng.uniform(np.log(1e-5), np.log(1e-2), n)), "epochs": rng.randint(1, 9, n).astype(float),
            "eps": rng.randint(0, 3, n).astype(float), "gae": rng.uniform(0.8, 1.0, n),
            "com": np.round(np.exp(rng.uniform(np.log(8), np.log(512), n)))}


def rows(name, sample):
    n = len(sample["lr"])
    print("static const double %s[%d][5] = {" % (name, n))
    for i in range(n):
        print("  {" + ", ".join(repr(float("%.17g" % sample[k][i])) for k in SPACE) + "},")
    print("};")


def densities(name, observed, at):
    parameters = _ParzenEstimatorParameters(1.0, True, False, default_weights, True)
    parzen = _ParzenEstimator(observed, SPACE, parameters)
    print("static const double %s[%d] = {%s};" % (name, len(at["lr"]), ", ".join(repr(float(x)) for x in parzen.log_pdf(at))))


observed, at = draw(40), draw(8)
for i in range(4):  # near an observation: else the wide kernel is all that there is
    for key, value in observed.items():
        at[key][i] = value[9 * i]
    at["lr"][i] *= 1.02
    at["gae"][i] = min(1.0, at["gae"][i] + 0.002)
rows("golden_observed", observed)
rows("golden_at", at)
for n in (0, 1, 2, 7, 40):
    densities("golden_log_%d" % n, {k: v[:n] for k, v in observed.items()}, at)
print("static const unsigned golden_gamma[] = {%s};" % ", ".join(str(default_gamma(n)) for n in range(0, 300, 7)))
