/* The task on top of the physics (spec kinetix.md 3.1, 3.2): actions, reward, end of an episode. An environment step is
 * `frame_skip` physics steps under one action. Resets are the batch's matter (batch_cpu.c). */
#ifndef SIM_TASK_H
#define SIM_TASK_H
#include "sim/step.h"

typedef struct SimTaskRules {
  int frame_skip, max_steps;
  real dense_reward;  /* a metre */
} SimTaskRules;

typedef struct SimTaskResult {
  real reward;
  real distance;      /* between green and blue: when the episode was decided, else after the last physics step */
  bool done, solved, nonfinite;
} SimTaskResult;

/* What each binding is to do, whatever the action space: motors -1..1, thrusters 0..1 (NaN where the action had it). */
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

/* Of world w's action among a batch's. */
SIM_FN SimCommand sim_task_command(SimActionSpace space, const void *actions, size_t w) {
  switch (space) {
    case SIM_DISCRETE: return sim_task_command_of_class(((const uint8_t *)actions)[w]);
    case SIM_CONTINUOUS: return sim_task_command_of_values((const float *)actions + w * SIM_ACTIONS);
    default: return sim_task_command_of_classes((const uint8_t *)actions + w * SIM_ACTIONS);
  }
}

SIM_FN SimControl sim_task_control(const SimModel *model, const SimCommand *command) {
  SimControl control = {0};
  for (int i = 0; i < model->joint_count; i++) {
    const SimJointModel *j = &model->joint[i];
    control.motor[j->slot] = j->motor_auto ? 1.0f : command->of[j->binding];
  }
  for (int i = 0; i < model->thruster_count; i++) {
    const SimThrusterModel *t = &model->thruster[i];
    control.thruster[t->slot] = command->of[SIM_MOTOR_BINDINGS + t->binding];
  }
  return control;
}

/* Sum over all pairs of a green and a blue shape. */
SIM_FN real sim_task_distance(const SimModel *model, const SimWorld *world) {
  real sum = 0.0f;
  for (int i = 0; i < model->goal_count; i++) {
    SimVec apart = sim_vec_sub(world->body[model->goal[i][0]].position, world->body[model->goal[i][1]].position);
    sum += real_sqrt(sim_vec_dot(apart, apart));
  }
  return sum;
}

/* NaN or infinity in what can move. */
SIM_FN bool sim_task_is_nonfinite(const SimModel *model, const SimWorld *world) {
  real sum = 0.0f;
  for (int i = 0; i < model->moving_count; i++) {
    const SimBody *b = &world->body[model->moving[i]];
    sum += (b->position.x + b->position.y + b->velocity.x + b->velocity.y + b->angular_velocity + b->rotation) * 0.0f;
  }
  for (int i = 0; i < model->joint_count; i++) {
    SimVec impulse = world->joint_impulse[model->joint[i].slot];
    sum += (impulse.x + impulse.y + world->joint_spin_impulse[model->joint[i].slot]) * 0.0f;
  }
  return real_any(real_is_nan(sum)) != 0;
}

/* The reward of nearness gained; 0 in the first step of an episode and where distances are not finite. */
SIM_FN real sim_task_dense_reward(const SimTaskRules *rules, real last_distance, real distance) {
  real gained = -(distance - last_distance) * rules->dense_reward;
  mask counts = (last_distance != -1.0f) & (gained - gained == 0.0f);
  return real_select(counts, gained, 0.0f);
}

/* After a physics step; bits: of the pairs that overlapped in it. The reference goes on to the end of the frame when the
 * episode is decided, too. */
SIM_FN void sim_task_judge(const SimModel *model, const SimWorld *world, int bits, SimTaskResult *result) {
  if (result->done) return;
  result->distance = sim_task_distance(model, world);
  result->done = bits != 0;
  result->solved = bits == SIM_TOUCH;
  result->reward = bits & SIM_LAVA ? -1.0f : bits ? 1.0f : 0.0f;
}

/* At the end of an environment step. */
SIM_FN void sim_task_end(const SimTaskRules *rules, const SimModel *model, SimWorld *world, SimTaskResult *result) {
  world->timestep++;
  result->nonfinite = sim_task_is_nonfinite(model, world);
  result->done = result->done || result->nonfinite || world->timestep >= rules->max_steps;
  result->reward += sim_task_dense_reward(rules, world->last_distance, result->distance);
  world->last_distance = result->done ? -1.0f : result->distance;
}

/* An environment step of one world. */
SIM_FN SimTaskResult sim_task_step(const SimTaskRules *rules, const SimModel *model, SimWorld *world,
                                   const SimCommand *command, SimScratch *scratch) {
  SimControl control = sim_task_control(model, command);
  SimTaskResult result = {0};
  sim_step_begin_level(model, &scratch->places);
  for (int k = 0; k < rules->frame_skip; k++) {
    int bits = sim_step(model, world, &control, scratch);
    sim_task_judge(model, world, bits, &result);
  }
  sim_task_end(rules, model, world, &result);
  return result;
}

#endif
