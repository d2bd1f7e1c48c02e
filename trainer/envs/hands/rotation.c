/* Quaternions (rotation.h). */
#include "trainer/envs/hands/rotation.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

void rotation_multiply(const double a[4], const double b[4], double product[4]) {
  const double result[4] = {
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
  memcpy(product, result, sizeof result);
}

void rotation_difference(const double a[4], const double b[4], double difference[4]) {
  const double conjugate[4] = {b[0], -b[1], -b[2], -b[3]};
  rotation_multiply(a, conjugate, difference);
}

double rotation_distance(const double a[4], const double b[4]) {
  double q[4];
  rotation_difference(a, b, q);
  return 2 * asin(fmin(sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), 1));
}

void rotation_from_axis_angle(const double axis[3], double angle, double rotation[4]) {
  const double s = sin(angle / 2);
  rotation[0] = cos(angle / 2);
  for (int i = 0; i < 3; i++) rotation[1 + i] = s * axis[i];
}

void rotation_random(double u, double v, double rotation[4]) {
  double y_rotation[4];
  rotation_from_axis_angle((const double[]){1, 0, 0}, pi * u, rotation);
  rotation_from_axis_angle((const double[]){0, 1, 0}, pi * v, y_rotation);
  rotation_multiply(rotation, y_rotation, rotation);
}

void rotation_to_xyzw(const double rotation[4], double xyzw[4]) {
  const double reordered[4] = {rotation[1], rotation[2], rotation[3], rotation[0]};
  memcpy(xyzw, reordered, sizeof reordered);
}

void rotation_apply(const double rotation[4], const double v[3], double result[3]) {
  const double w = rotation[0], *q = rotation + 1;
  const double t[3] = {2 * (q[1] * v[2] - q[2] * v[1]), 2 * (q[2] * v[0] - q[0] * v[2]),
                       2 * (q[0] * v[1] - q[1] * v[0])};
  const double rotated[3] = {v[0] + w * t[0] + q[1] * t[2] - q[2] * t[1], v[1] + w * t[1] + q[2] * t[0] - q[0] * t[2],
                          v[2] + w * t[2] + q[0] * t[1] - q[1] * t[0]};
  memcpy(result, rotated, sizeof rotated);
}

void rotation_apply_inverse(const double rotation[4], const double v[3], double result[3]) {
  const double inverse[4] = {rotation[0], -rotation[1], -rotation[2], -rotation[3]};
  rotation_apply(inverse, v, result);
}
