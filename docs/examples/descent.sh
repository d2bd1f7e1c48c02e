#!/bin/bash
# Minimizes x^2 by noisy gradients. Usage: descent.sh LEARNING_RATE STEPS SEED
awk -v lr="$1" -v steps="$2" -v seed="$3" 'BEGIN {
  srand(seed)
  x = 3
  for (step = 1; step <= steps; step++) {
    x -= lr * (2 * x + rand() - 0.5)
    printf "step %d: loss %g\n", step, x * x
  }
}'
