"""Makes growth_golden.h: noisy learning curves and SciPy's least-squares fits of each family (scipy.optimize.curve_fit).

    pip install numpy scipy
    python make_growth_golden.py > growth_golden.h

NumPy 2.4.6 and SciPy 1.17.1 made the current file."""
import numpy as np
from scipy.optimize import curve_fit

FAMILIES = (
    (lambda x, a, b, h: a - b * 2.0 ** (-x / h), ()),
    (lambda x, a, b, h, s: a - b * 2.0 ** (-((x / h) ** s)), (0.35, 4)),
    (lambda x, a, b, h, s: a - b * (1 + (2.0 ** (1 / s) - 1) * x / h) ** -s, (0.3, 6)),
    (lambda x, a, b, h, s: a - b / (1 + (x / h) ** s), (0.6, 6)),
    (lambda x, a, b, h: a + b * np.log1p(x / h), ()),
    (lambda x, a, b: a + b * x, None),
)
rng = np.random.RandomState(5)
x = np.linspace(0, 3e6, 40)
t = x / 3e6
curves = [0.05 + 0.55 * (1 - np.exp(-4 * t)), 0.6 * (3 * t) ** 2.5 / (1 + (3 * t) ** 2.5),
          0.1 + 0.6 * (1 - (1 + 6 * t) ** -1.3), 200 * (1 - np.exp(-(3 * t) ** 0.7)) - 30]
curves = [y + 0.02 * np.ptp(y) * rng.randn(len(x)) for y in curves]


def best(family, limits, y):
    """The best of fits from several starts: its sum of squares and its parameters."""
    results = []
    for half in (0.03, 0.1, 0.3, 1):
        for shape in (0.7, 1, 2):
            bounds = (-np.inf, np.inf)
            start = [y[-1], np.ptp(y), 3e6 * half, shape][:2 if limits is None else 3 if not limits else 4]
            if limits is not None:
                bounds = ([-np.inf, -np.inf, 1.5e4] + list(limits[:1]), [np.inf, np.inf, 3e7] + list(limits[1:]))
            try:
                found, _ = curve_fit(family, x, y, start, bounds=bounds, x_scale=np.abs(start), ftol=1e-15, xtol=1e-15,
                                     gtol=1e-15, max_nfev=20000) if limits is not None else curve_fit(family, x, y)
            except RuntimeError:
                continue
            results.append((np.sum((family(x, *found) - y) ** 2), tuple(found)))
    return min(results)


print("/* Made by make_growth_golden.py. */")
print("enum { GOLDEN_POINTS = %d, GOLDEN_CURVES = %d, GOLDEN_FAMILIES = %d };" % (len(x), len(curves), len(FAMILIES)))
print("static const double golden_x[] = {%s};" % ",\n  ".join("%.17g" % v for v in x))
print("static const double golden_y[][GOLDEN_POINTS] = {")
for y in curves:
    print("  {%s}," % ",\n   ".join("%.17g" % v for v in y))
print("};")
print("/* [curve][family] sum of squares, a, value in the middle. */")
print("static const double golden_fit[][GOLDEN_FAMILIES][3] = {")
for y in curves:
    print("  {")
    for family, limits in FAMILIES:
        squares, found = best(family, limits, y)
        print("    {%.12g, %.12g, %.12g}," % (squares, found[0], family(1.5e6, *found)))
    print("  },")
print("};")
