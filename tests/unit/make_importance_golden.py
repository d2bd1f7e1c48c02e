"""Makes importance_golden.h: the leaves of a tree of scikit-learn, and Optuna's functional ANOVA of it.

    pip install optuna scikit-learn
    python make_importance_golden.py > importance_golden.h

Optuna 5.0.0 and scikit-learn 1.9.1 made the current file."""
import itertools

import numpy as np
from optuna.importance._fanova._tree import _FanovaTree
from sklearn.tree import DecisionTreeRegressor

rng = np.random.RandomState(3)
x = rng.rand(60, 3)
y = np.sin(6 * x[:, 0]) + (x[:, 1] > 0.5) * x[:, 0] + 0.1 * x[:, 2]
tree = DecisionTreeRegressor(random_state=0, max_leaf_nodes=16).fit(x, y).tree_


def leaves(node, box):
    if tree.children_left[node] < 0:
        yield box, tree.value[node][0][0]
        return
    feature, threshold = tree.feature[node], tree.threshold[node]
    for child, ends in ((tree.children_left[node], (box[feature][0], threshold)),
                        (tree.children_right[node], (threshold, box[feature][1]))):
        inner = list(box)
        inner[feature] = ends
        yield from leaves(child, inner)


fanova = _FanovaTree(tree, np.array([[0.0, 1.0]] * 3))
rows = list(leaves(0, [(0.0, 1.0)] * 3))
print("/* Made by make_importance_golden.py. */")
for name, side in (("low", 0), ("high", 1)):
    print("static double golden_%s[] = {" % name)
    for box, _ in rows:
        print("  " + ", ".join("%.17g" % ends[side] for ends in box) + ",")
    print("};")
print("static double golden_value[] = {\n  " + ",\n  ".join("%.17g" % value for _, value in rows) + "};")
print("static const double golden_variance = %.17g;" % fanova.variance)
print("static const struct { size_t a, b; double variance; } golden_marginal[] = {")
for pair in [(i, i) for i in range(3)] + list(itertools.combinations(range(3), 2)):
    print("  {%d, %d, %.17g}," % (*pair, fanova.get_marginal_variance(np.array(sorted(set(pair))))))
print("};")
