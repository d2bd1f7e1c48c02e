#!/usr/bin/env python3
"""Makes reorient_isaac.gold: rewards, goals and observations of IsaacGymEnvs' own functions for random states.

  python make_reorient.py ISAACGYMENVS NEW.gold      needs torch and numpy

ISAACGYMENVS is a checkout of isaac-sim/IsaacGymEnvs (1.5.1). tasks/shadow_hand.py, tasks/allegro_hand.py and
utils/torch_jit_utils.py are run; Isaac Gym itself is replaced by empty modules. Rotations are x, y, z, w.
Lines: case TASK number; NAME numbers. The terms of a reward are its values with all other scales 0."""
import sys
import types

import numpy as np
import torch

folder, target = sys.argv[1:]
sys.path.insert(0, folder)
for name in ("isaacgym", "isaacgym.gymtorch", "isaacgym.gymapi", "isaacgymenvs", "isaacgymenvs.tasks",
             "isaacgymenvs.utils", "isaacgymenvs.tasks.base", "isaacgymenvs.tasks.base.vec_task"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["isaacgym"].gymtorch = sys.modules["isaacgym.gymtorch"]
sys.modules["isaacgym"].gymapi = sys.modules["isaacgym.gymapi"]
sys.modules["isaacgymenvs"].__path__ = [folder + "/isaacgymenvs"]
sys.modules["isaacgymenvs.tasks"].__path__ = [folder + "/isaacgymenvs/tasks"]
sys.modules["isaacgymenvs.utils"].__path__ = [folder + "/isaacgymenvs/utils"]
sys.modules["isaacgymenvs.tasks.base.vec_task"].VecTask = object

from isaacgymenvs.tasks import allegro_hand, shadow_hand  # noqa: E402
from isaacgymenvs.utils import torch_jit_utils as utils  # noqa: E402

CASES = 12
draw = np.random.default_rng(20240)
out = open(target, "w")


def normal(*shape, scale=1.0):
    return torch.tensor(draw.normal(size=shape) * scale, dtype=torch.float32)


def put(name, *values):
    numbers = torch.cat([torch.as_tensor(v, dtype=torch.float32).reshape(-1) for v in values])
    out.write(name + "".join(f" {float(x):.9g}" for x in numbers) + "\n")


def rotation():
    q = normal(1, 4)
    return q / q.norm()


def reward(module, state, actions, scales):
    zero = torch.zeros(1)
    # reward, ends, goals reached
    got = module.compute_hand_reward(
        zero, zero, zero, zero, zero, zero, 600.0, state.object_pos, state.object_rot, state.goal_pos, state.goal_rot,
        scales["distance"], scales["rotation"], 0.1, actions, scales["action"], 0.1, scales["bonus"], 0.24,
        scales["fall"], 0, 0.1, False)
    return got[0], got[1], got[2]


def one_case(module, kind, name, i, joints, actions, tips):
    self = types.SimpleNamespace()
    self.num_shadow_hand_dofs, self.num_fingertips, self.num_envs, self.num_actions = joints, tips, 1, actions
    self.vel_obs_scale, self.force_torque_obs_scale = 0.2, 10.0
    self.shadow_hand_dof_lower_limits = -normal(joints).abs() - 0.1
    self.shadow_hand_dof_upper_limits = normal(joints).abs() + 0.1
    self.shadow_hand_dof_pos = normal(1, joints, scale=0.5)
    self.shadow_hand_dof_vel = normal(1, joints, scale=8)
    self.dof_force_tensor = normal(1, joints, scale=0.2)
    self.goal_pos = normal(1, 3, scale=0.4)
    self.object_pos = self.goal_pos + normal(1, 3, scale=[0.02, 0.3][i % 2])
    self.goal_rot, self.object_rot = rotation(), rotation()
    if i % 3 == 0:  # near the goal, on either side of the tolerance; the opposite quaternion is the same rotation
        small = utils.quat_from_angle_axis(torch.tensor([[0.05, 0.099, 0.101, 0.4][i // 3 % 4]]),
                                           torch.nn.functional.normalize(normal(1, 3)))
        self.object_rot = (-1) ** i * utils.quat_mul(small, self.goal_rot)
    self.object_pose = torch.cat([self.object_pos, self.object_rot], 1)
    self.goal_pose = torch.cat([self.goal_pos, self.goal_rot], 1)
    self.object_linvel, self.object_angvel = normal(1, 3, scale=3), normal(1, 3, scale=12)
    self.fingertip_state = normal(1, tips, 13, scale=2)
    self.vec_sensor_tensor = normal(1, tips * 6, scale=0.3)
    self.actions = normal(1, actions, scale=0.6).clamp(-1, 1)
    self.obs_buf = torch.zeros(1, {"shadow": 211, "allegro": 88}[name])
    kind.compute_full_state(self)
    out.write(f"case {name} {i}\n")
    put("limits", self.shadow_hand_dof_lower_limits, self.shadow_hand_dof_upper_limits)
    put("joints", self.shadow_hand_dof_pos, self.shadow_hand_dof_vel, self.dof_force_tensor)
    put("object", self.object_pose, self.object_linvel, self.object_angvel)
    put("goal", self.goal_pose)
    put("tips", self.fingertip_state, self.vec_sensor_tensor)
    put("action", self.actions)
    put("observation", self.obs_buf.clamp(-5, 5))  # as VecTask clamps them (clipObservations)
    scales = {"distance": -10.0, "rotation": 1.0, "action": -0.0002, "bonus": 250.0, "fall": -3.0}
    total, ended, reached = reward(module, self, self.actions, scales)
    terms = [reward(module, self, self.actions, {key: scales[key] if key == one else 0.0 for key in scales})[0]
             for one in scales]
    put("reward", *terms, total, ended, reached)
    put("targets", utils.scale(self.actions, self.shadow_hand_dof_lower_limits[:actions],
                               self.shadow_hand_dof_upper_limits[:actions]))


for i in range(CASES):
    one_case(shadow_hand, shadow_hand.ShadowHand, "shadow", i, 24, 20, 5)
for i in range(CASES):
    one_case(allegro_hand, allegro_hand.AllegroHand, "allegro", i, 16, 16, 0)
for i in range(CASES):
    pair = torch.tensor(draw.uniform(-1, 1, size=(2, 1)), dtype=torch.float32)
    x, y = torch.tensor([[1.0, 0, 0]]), torch.tensor([[0, 1.0, 0]])
    put("turn", pair, shadow_hand.randomize_rotation(pair[0], pair[1], x, y))
