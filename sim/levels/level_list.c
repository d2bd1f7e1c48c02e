/* Lists of level_list.h. */
#include "sim/levels/level_list.h"

#include <stddef.h>
#include <string.h>

static const char *const small[] = {
  "s/h0_weak_thrust", "s/h7_unicycle_left", "s/h3_point_the_thruster", "s/h4_thrust_aim", "s/h1_thrust_over_ball",
  "s/h5_rotate_fall", "s/h9_explode_then_thrust_over", "s/h6_unicycle_right", "s/h8_unicycle_balance",
  "s/h2_one_wheel_car", NULL};

static const char *const medium[] = {
  "m/h0_unicycle", "m/h1_car_left", "m/h2_car_right", "m/h3_car_thrust", "m/h4_thrust_the_needle", "m/h5_angry_birds",
  "m/h6_thrust_over", "m/h7_car_flip", "m/h8_weird_vehicle", "m/h9_spin_the_right_way", "m/h10_thrust_right_easy",
  "m/h11_thrust_left_easy", "m/h12_thrustfall_left", "m/h13_thrustfall_right", "m/h14_thrustblock",
  "m/h15_thrustshoot", "m/h16_thrustcontrol_right", "m/h17_thrustcontrol_left", "m/h18_thrust_right_very_easy",
  "m/h19_thrust_left_very_easy", "m/arm_left", "m/arm_right", "m/arm_up", "m/arm_hard", NULL};

static const char *const large[] = {
  "l/h0_angrybirds", "l/h1_car_left", "l/h2_car_ramp", "l/h3_car_right", "l/h4_cartpole", "l/h5_flappy_bird",
  "l/h6_lorry", "l/h7_maze_1", "l/h8_maze_2", "l/h9_morph_direction", "l/h10_morph_direction_2",
  "l/h11_obstacle_avoidance", "l/h12_platformer_1", "l/h13_platformer_2", "l/h14_simple_thruster", "l/h15_swing_up",
  "l/h16_thruster_goal", "l/h17_unicycle", "l/hard_beam_balance", "l/hard_cartpole_thrust", "l/hard_cartpole_wheels",
  "l/hard_lunar_lander", "l/hard_pinball", "l/grasp_hard", "l/grasp_easy", "l/mjc_half_cheetah",
  "l/mjc_half_cheetah_easy", "l/mjc_hopper", "l/mjc_hopper_easy", "l/mjc_swimmer", "l/mjc_walker",
  "l/mjc_walker_easy", "l/car_launch", "l/car_swing_around", "l/chain_lander", "l/chain_thrust", "l/gears",
  "l/lever_puzzle", "l/pr", "l/rail", NULL};

const SimLevelList sim_level_lists[] = {
  {"kinetix_s", small}, {"kinetix_m", medium}, {"kinetix_l", large}, {NULL, NULL}};

const SimLevelList *sim_level_list_find(const char *name) {
  for (const SimLevelList *list = sim_level_lists; list->name; list++)
    if (strcmp(list->name, name) == 0) return list;
  return NULL;
}
