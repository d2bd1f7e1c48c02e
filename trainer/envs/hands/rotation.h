/* Rotations as unit quaternions (w, x, y, z), MuJoCo's order. Outputs may alias inputs. */
#ifndef TRAINER_HANDS_ROTATION_H
#define TRAINER_HANDS_ROTATION_H

/* Computes a b: rotation b followed by a. */
void rotation_multiply(const double a[4], const double b[4], double product[4]);
/* Computes a conj(b), the rotation from b to a. */
void rotation_difference(const double a[4], const double b[4], double difference[4]);
/* Returns the angle between two rotations in 0 .. pi: 2 asin(min(|imaginary part of a conj(b)|, 1)). */
double rotation_distance(const double a[4], const double b[4]);
/* Computes the rotation by `angle` radians about the unit vector `axis`. */
void rotation_from_axis_angle(const double axis[3], double angle, double rotation[4]);
/* Computes Isaac Gym's random rotation: by pi v about y, then by pi u about x; u and v uniform in -1 .. 1. Not uniform
 * over all rotations, as it never rotates about z. */
void rotation_random(double u, double v, double rotation[4]);
/* Rotate the vector v from a body's frame to the world's, and vice versa. */
void rotation_apply(const double rotation[4], const double v[3], double result[3]);
void rotation_apply_inverse(const double rotation[4], const double v[3], double result[3]);
/* Reorders w, x, y, z to Isaac Gym's x, y, z, w. */
void rotation_to_xyzw(const double rotation[4], double xyzw[4]);

#endif
