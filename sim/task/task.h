/* Task on top of the physics (docs/simulator.md#rules; engine_step and compute_reward_info in Kinetix'
 * kinetix/environment/env.py): actions, reward, end of an episode. An environment step is `frame_skip` physics steps
 * under one action. Resets are the batch's (batch_world.h). */
#ifndef SIM_TASK_H
#define SIM_TASK_H
#include "sim/physics/step.h"

typedef struct SimTaskRules {
  int frame_skip, max_steps;
  real dense_reward;  /* per meter by which green approaches blue */
} SimTaskRules;

typedef struct SimTaskResult {
  real reward;
  real distance;      /* m, between green and blue: when the episode ended, else after the last physics step */
  bool done, solved, nonfinite;
  bool late;          /* done, and only because of the time limit */
} SimTaskResult;

/* Command of each binding, for any action space: motors -1..1, thrusters 0..1 (NaN where the action had it). */
typedef struct SimCommand { real of[SIM_ACTIONS]; } SimCommand;

SIM_FN SimCommand sim_task_command_of_classes(const uint8_t choice[SIM_ACTIONS]) {
  SimCommand command;
  for (int i = 0; i < SIM_ACTIONS; i++) {
    const bool back = choice[i] == 2 && i < SIM_MOTOR_BINDINGS;
    command.of[i] = choice[i] == 1 ? 1.0f : back ? -1.0f : 0.0f;
  }
  return command;
}

SIM_FN SimCommand sim_task_command_of_class(uint8_t choice) {
  SimCommand command = {0};
  if (choice < SIM_DISCRETE_IDLE) command.of[choice / 2] = choice % 2 ? 1.0f : -1.0f;
  else if (choice > SIM_DISCRETE_IDLE && choice < SIM_DISCRETE_CLASSES)
    command.of[SIM_MOTOR_BINDINGS + choice - SIM_DISCRETE_IDLE - 1] = 1.0f;
  return command;
}

SIM_FN SimCommand sim_task_command_of_values(const float value[SIM_ACTIONS]) {
  SimCommand command;
  for (int i = 0; i < SIM_ACTIONS; i++)
    command.of[i] = real_clip(value[i], i < SIM_MOTOR_BINDINGS ? -1.0f : 0.0f, 1.0f);
  return command;
}

/* Returns the command of world w from a batch's actions (SimActionSpace defines their type and shape). */
SIM_FN SimCommand sim_task_command(SimActionSpace space, const void *actions, size_t w) {
  switch (space) {
    case SIM_DISCRETE: return sim_task_command_of_class(((const uint8_t *)actions)[w]);
    case SIM_CONTINUOUS: return sim_task_command_of_values((const float *)actions + w * SIM_ACTIONS);
    default: return sim_task_command_of_classes((const uint8_t *)actions + w * SIM_ACTIONS);
  }
}

SIM_FN real sim_task_motor(const SimJointModel *j, const SimCommand *command) {
  return j->motor_auto ? 1.0f : command->of[j->binding];
}
SIM_FN real sim_task_thruster(const SimThrusterModel *t, const SimCommand *command) {
  return command->of[SIM_MOTOR_BINDINGS + t->binding];
}

SIM_FN SimControl sim_task_control(const SimModel *model, const SimCommand *command) {
  SimControl control = {0};
  for (int i = 0; i < model->joint_count; i++)
    control.motor[model->joint[i].slot] = sim_task_motor(&model->joint[i], command);
  for (int i = 0; i < model->thruster_count; i++)
    control.thruster[model->thruster[i].slot] = sim_task_thruster(&model->thruster[i], command);
  return control;
}

/* Returns the distance between green and blue in meters, summed over all pairs of such shapes. body: of the world, by
 * shape. */
SIM_FN real sim_task_distance(const SimModel *model, const SimBody *body) {
  real sum = 0.0f;
  for (int i = 0; i < model->goal_count; i++) {
    SimVec apart = sim_vec_sub(body[model->goal[i][0]].position, body[model->goal[i][1]].position);
    sum += real_sqrt(sim_vec_dot(apart, apart));
  }
  return sum;
}

/* Returns 0, or NaN where a body or a joint's impulses have NaN or infinity. */
SIM_FN real sim_task_body_zero(const SimBody *b) {
  return (b->position.x + b->position.y + b->velocity.x + b->velocity.y + b->angular_velocity + b->rotation) * 0.0f;
}
SIM_FN real sim_task_joint_zero(SimVec impulse, real angular_impulse) {
  return (impulse.x + impulse.y + angular_impulse) * 0.0f;
}

/* Whether a moving body or a joint has NaN or infinity. */
SIM_FN bool sim_task_is_nonfinite(const SimModel *model, const SimWorld *world) {
  real sum = 0.0f;
  for (int i = 0; i < model->moving_count; i++) sum += sim_task_body_zero(&world->body[model->moving[i]]);
  for (int i = 0; i < model->joint_count; i++) {
    const int slot = model->joint[i].slot;
    sum += sim_task_joint_zero(world->joint_impulse[slot], world->joint_spin_impulse[slot]);
  }
  return real_any(real_is_nan(sum)) != 0;
}

/* Returns the dense reward for approaching; 0 in the first step of an episode and where distances are not finite. */
SIM_FN real sim_task_dense_reward(const SimTaskRules *rules, real last_distance, real distance) {
  real gained = -(distance - last_distance) * rules->dense_reward;
  mask counts = (last_distance != -1.0f) & (gained - gained == 0.0f);
  return real_select(counts, gained, 0.0f);
}

/* Scores a physics step: rewards and ends the episode. bits: reward bits of the pairs that overlapped in it; body: of
 * the world, by shape. The first step that ends the episode counts; physics continues to the end of the frame, as in
 * the reference. */
SIM_FN void sim_task_score(const SimModel *model, const SimBody *body, int bits, SimTaskResult *result) {
  if (result->done) return;
  result->distance = sim_task_distance(model, body);
  result->done = bits != 0;
  result->solved = bits == SIM_TOUCH;
  result->reward = bits & SIM_LAVA ? -1.0f : bits ? 1.0f : 0.0f;
}

/* Ends an environment step: applies the time limit and the dense reward. nonfinite: result of
 * sim_task_is_nonfinite(). */
SIM_FN void sim_task_end_step(const SimTaskRules *rules, bool nonfinite, SimWorld *world, SimTaskResult *result) {
  world->timestep++;
  result->nonfinite = nonfinite;
  const bool has_ended = result->done || result->nonfinite;
  result->late = !has_ended && world->timestep >= rules->max_steps;
  result->done = has_ended || result->late;
  result->reward += sim_task_dense_reward(rules, world->last_distance, result->distance);
  world->last_distance = result->done ? -1.0f : result->distance;
}

SIM_FN void sim_task_end(const SimTaskRules *rules, const SimModel *model, SimWorld *world, SimTaskResult *result) {
  sim_task_end_step(rules, sim_task_is_nonfinite(model, world), world, result);
}

/* Runs an environment step of one world. */
SIM_FN SimTaskResult sim_task_step(const SimTaskRules *rules, const SimModel *model, SimWorld *world,
                                   const SimCommand *command, SimScratch *scratch) {
  SimControl control = sim_task_control(model, command);
  SimTaskResult result = {0};
  sim_step_begin_level(model, &scratch->geometry);
  for (int k = 0; k < rules->frame_skip; k++) {
    int bits = sim_step(model, world, &control, scratch);
    sim_task_score(model, world->body, bits, &result);
  }
  sim_task_end(rules, model, world, &result);
  return result;
}

#endif
