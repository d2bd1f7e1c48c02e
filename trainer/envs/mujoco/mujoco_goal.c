/* Rules by family, and checks that all families share (mujoco_goal.h). */
#include "trainer/envs/mujoco/mujoco_goal.h"

#if CORE_HAS_MUJOCO
#include "core/error.h"

const MujocoGoalRules *mujoco_goal_rules(const MujocoTask *task) {
  switch (task->family) {
    case MUJOCO_GYMNASIUM: return NULL;
    case MUJOCO_REORIENT: return &mujoco_reorient_rules;
    case MUJOCO_KUKA: return &mujoco_kuka_rules;
  }
  return NULL;
}

int mujoco_goal_check(const MujocoModel *model, const char *path, int userdata) {
  const mjModel *m = model->model;
  const int goal = mujoco.mj_name2id(m, mjOBJ_BODY, "goal");
  if (m->nuserdata != userdata)
    return core_error(CORE_USAGE, "%.300s has nuserdata = %d, but %s requires %d; `make` or `make install` installs "
                      "this trainer's model", path, (int)m->nuserdata,
                      model->task->name, userdata);
  if (goal < 0 || m->body_mocapid[goal] != 0)
    return core_error(CORE_USAGE, "%.300s has no mocap body \"goal\", which %s requires; `make` or `make install` "
                      "installs this trainer's model", path, model->task->name);
  return CORE_OK;
}
#endif
