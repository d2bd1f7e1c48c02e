/* Rotations as unit quaternions (w, x, y, z), MuJoCo's order. Each function may write where it reads from. */
#ifndef TRAINER_HANDS_ROTATION_H
#define TRAINER_HANDS_ROTATION_H

/* product = a b: first b, then a. */
void rotation_multiply(const double a[4], const double b[4], double product[4]);
/* a conj(b): what turns b into a. */
void rotation_between(const double a[4], const double b[4], double between[4]);
/* Radians between two rotations, 0 .. pi: 2 asin(min(|imaginary part of a conj(b)|, 1)). */
double rotation_distance(const double a[4], const double b[4]);
/* By `angle` radians about the unit vector `axis`. */
void rotation_about(const double axis[3], double angle, double rotation[4]);
/* Isaac Gym's random rotation: by pi u about x after pi v about y; u and v uniform in -1 .. 1. It is not uniform over
 * all rotations: nothing turns about z. */
void rotation_random(double u, double v, double rotation[4]);
/* The vector v turned by it, from a body's axes to the world's; and the other way. */
void rotation_turn(const double rotation[4], const double v[3], double turned[3]);
void rotation_turn_back(const double rotation[4], const double v[3], double turned[3]);
/* w, x, y, z to x, y, z, w, which is Isaac Gym's order. */
void rotation_last(const double rotation[4], double last[4]);

#endif
