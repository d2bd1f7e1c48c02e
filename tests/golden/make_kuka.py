#!/usr/bin/env python3
"""Makes kuka_isaac.gold: rewards, observations, goals, starts, targets and cuboids of IsaacGymEnvs' AllegroKuka tasks,
by running IsaacGymEnvs' own classes on random states in double precision; and the arm and hand of its URDF.

  python make_kuka.py ISAACGYMENVS kuka_isaac.gold      needs torch, numpy; ISAACGYMENVS is a checkout of release 1.5.1

Isaac Gym itself is not needed: the classes get tensors instead of the simulator's. The random numbers that the
classes use are ours, and written next to the results. Lines: a word, then numbers. KukaView in
trainer/envs/hands/kuka.h has the order of the numbers in a state. Rotations are w, x, y, z here, x, y, z, w there."""
import contextlib
import functools
import importlib
import io
import os
import sys
import tempfile
import types
import xml.etree.ElementTree

import numpy as np
import torch

ARM, JOINTS, TIPS, WORLDS, STEPS = 7, 23, 4, 6, 8
TERMS = ["fingertip_delta_rew", "lifting_rew", "lift_bonus_rew", "keypoint_rew", "kuka_actions_penalty",
         "allegro_actions_penalty", "bonus_rew"]
TASKS = {"regrasping": "Regrasping", "throw": "Throw", "reorientation": "Reorientation"}
YAML = {"regrasping": dict(episodeLength=400, successSteps=30, target=0.01),
        "throw": dict(episodeLength=300, successSteps=5, target=0.075),
        "reorientation": dict(episodeLength=600, successSteps=1, target=0.01)}
source, target = sys.argv[1:]
rng = np.random.default_rng(24)
torch.set_default_dtype(torch.float64)


class Anything:
    """A stub of Isaac Gym: every call does nothing."""
    def __getattr__(self, name):
        return lambda *a, **k: None


def package(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


for name in ("isaacgym.gymapi", "isaacgym.gymtorch", "isaacgym.gymutil"):
    package(name, unwrap_tensor=lambda x: x, LOCAL_SPACE=0)
package("isaacgym", **{n: sys.modules["isaacgym." + n] for n in ("gymapi", "gymtorch", "gymutil")})
for name in ("", ".tasks", ".tasks.allegro_kuka", ".tasks.base", ".utils"):
    package("isaacgymenvs" + name).__path__ = [source + "/isaacgymenvs" + name.replace(".", "/")]
package("isaacgymenvs.tasks.base.vec_task", VecTask=object)


class Template:
    def __init__(self, *a, **k): pass
    def get_template(self, name): return self
    def render(self, **k): return ""


package("jinja2", Environment=Template, FileSystemLoader=Template, select_autoescape=lambda: None)
modules = [importlib.import_module("isaacgymenvs.tasks.allegro_kuka.allegro_kuka_" + t) for t in ["base", *TASKS]]
cuboids = importlib.import_module("isaacgymenvs.tasks.allegro_kuka.generate_cuboids")
lines = []


def write(word, *numbers):
    flat = np.concatenate([np.asarray(n, np.float64).reshape(-1) for n in numbers])
    lines.append(word + "".join(" %.12g" % x for x in flat))


class Drawn:
    """torch_rand_float that remembers what it gave, between 0 and 1."""
    def __init__(self):
        self.given = []

    def __call__(self, low, high, shape, device):
        u = torch.from_numpy(rng.random(shape))
        self.given.append(u.numpy())
        return low + (high - low) * u


drawn = Drawn()
for module in modules:
    if hasattr(module, "torch_rand_float"):
        module.torch_rand_float = drawn

# ---- the robot's description ---------------------------------------------------------------------------------------

described = source + "/assets/urdf/kuka_allegro_description/kuka_allegro_touch_sensor.urdf"
robot = xml.etree.ElementTree.parse(described).getroot()
joints = {j.find("child").get("link"): j for j in robot.findall("joint")}
moving = [j for j in robot.findall("joint") if j.get("type") == "revolute"]
order = sorted(moving, key=lambda j: ("iiwa7 index middle ring thumb".split().index(j.get("name").split("_")[0]),
                                      j.get("name")))
low, high = (np.array([float(j.find("limit").get(k)) for j in order]) for k in ("lower", "upper"))


def turn(axis, angle):
    x, y, z = axis
    c, s = np.cos(angle), np.sin(angle)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return c * np.eye(3) + s * cross + (1 - c) * np.outer(axis, axis)


def forward(link, position):
    """The link's place and rotation matrix, by the URDF's rules."""
    if link not in joints:
        return np.array([0, 0.8, 0]), np.eye(3)
    joint = joints[link]
    place, rotation = forward(joint.find("parent").get("link"), position)
    x, y, z = (float(v) for v in joint.find("origin").get("xyz").split())
    roll, pitch, yaw = (float(v) for v in joint.find("origin").get("rpy").split())
    here = rotation @ turn([0, 0, 1], yaw) @ turn([0, 1, 0], pitch) @ turn([1, 0, 0], roll)
    if joint in order:
        axis = [float(v) for v in joint.find("axis").get("xyz").split()]
        here = here @ turn(axis, position[order.index(joint)])
    return place + rotation @ np.array([x, y, z]), here


write("range", np.stack([low, high], 1))
links = ["iiwa7_link_%d" % i for i in range(1, 8)] + ["palm_link"] + \
    ["%s_link_%d" % (f, i) for f in ("index", "middle", "ring", "thumb") for i in range(4)]
mass = {l.get("name"): float(l.find("inertial/mass").get("value")) for l in robot.findall("link")
        if l.find("inertial") is not None}
mass["palm_link"] += mass["iiwa7_link_ee"] + mass["allegro_mount"]  # fixed to each other
write("mass", [mass[l] for l in links])
for k in range(8):
    position = low + (high - low) * rng.random(JOINTS)
    frames = [forward(l, position) for l in ["iiwa7_link_7"] + [f + "_link_3" for f in
                                                                ("index", "middle", "ring", "thumb")]]
    write("kinematics", position, *[np.concatenate([p, r.reshape(-1)]) for p, r in frames])

# ---- the tasks -----------------------------------------------------------------------------------------------------


def random_rotation():
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)  # x, y, z, w


@functools.cache
def sides(name):
    """All cuboids of a task, as the class finds them in its folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        cuboids.generate_default_cube(folder, "", 0.05)
        cuboids.generate_small_cuboids(folder, "", 0.05)
        if name != "throw":
            cuboids.generate_big_cuboids(folder, "", 0.05)
            cuboids.generate_sticks(folder, "", 0.05)
        return [[int(s) / 100 for s in f[:-5].split("_")[2:]] for f in sorted(os.listdir(folder))]


def make(name):
    """An object of the task's class with all that its steps need."""
    numbers = YAML[name]
    task = object.__new__(getattr(importlib.import_module("isaacgymenvs.tasks.allegro_kuka.allegro_kuka_" + name),
                                  "AllegroKuka" + TASKS[name]))
    keypoints = task._object_keypoint_offsets()
    zeros, ones = (lambda *s: torch.zeros((WORLDS,) + s)), (lambda *s: torch.ones((WORLDS,) + s))
    scales = [sides(name)[i] for i in rng.integers(0, len(sides(name)), WORLDS)]
    bodies = ["palm", "index", "middle", "ring", "thumb"]
    task.__dict__.update(
        num_envs=WORLDS, device="cpu", gym=Anything(), sim=None, viewer=None, save_states=False, eval_stats=False,
        debug_viz=False, obs_type="full_state", with_fingertip_force_sensors=False, with_dof_force_sensors=False,
        num_arm_dofs=ARM, num_hand_arm_dofs=JOINTS, num_hand_dofs=JOINTS - ARM, num_allegro_fingertips=TIPS,
        num_keypoints=len(keypoints), palm_offset=np.array([0, -0.02, 0.16]),
        fingertip_offsets=np.array([[0.05, 0.005, 0]] * 3 + [[0.06, 0.005, 0]]),
        distance_delta_rew_scale=50.0, lifting_rew_scale=20.0, lifting_bonus=300.0, lifting_bonus_threshold=0.15,
        keypoint_rew_scale=200.0, kuka_actions_penalty_scale=0.003, allegro_actions_penalty_scale=0.0003,
        reach_goal_bonus=1000.0, fall_dist=0.24, fall_penalty=0.0, keypoint_scale=1.5, clamp_abs_observations=10.0,
        max_episode_length=numbers["episodeLength"], success_steps=numbers["successSteps"],
        success_tolerance=0.075, initial_tolerance=0.075, target_tolerance=numbers["target"],
        tolerance_curriculum_increment=0.9, tolerance_curriculum_interval=3000, max_consecutive_successes=50,
        last_curriculum_update=0, frame_since_restart=0, prev_episode_successes=zeros(),
        prev_episode_true_objective=zeros(), true_objective=zeros(), successes=zeros(), near_goal_steps=zeros(),
        lifted_object=zeros().bool(), closest_keypoint_max_dist=-ones(), closest_fingertip_dist=-ones(TIPS),
        furthest_hand_dist=-ones(), finger_rew_coeffs=ones(TIPS), reset_buf=zeros().long(),
        reset_goal_buf=zeros().long(), progress_buf=zeros().long(), randomize_buf=zeros().long(), rew_buf=zeros(),
        extras={}, privileged_actions=False,
        rewards_episode={k: zeros() for k in ["raw_fingertip_delta_rew", "raw_hand_delta_penalty", "raw_lifting_rew",
                                              "raw_keypoint_rew", "hand_delta_penalty", *TERMS]},
        object_scales=torch.tensor(scales),
        object_keypoint_offsets=torch.tensor([[[c * s * 0.05 * 1.5 / 2 for c, s in zip(k, scale)] for k in keypoints]
                                              for scale in scales]),
        obj_keypoint_pos=zeros(len(keypoints), 3), goal_keypoint_pos=zeros(len(keypoints), 3),
        full_state_size=93 + 6 * len(keypoints), obs_buf=zeros(93 + 6 * len(keypoints)),
        rigid_body_states=zeros(len(bodies), 13), allegro_palm_handle=0,
        allegro_fingertip_handles=torch.arange(1, 1 + TIPS), root_state_tensor=torch.zeros(3 * WORLDS, 13),
        object_indices=3 * torch.arange(WORLDS), goal_object_indices=3 * torch.arange(WORLDS) + 1,
        bucket_object_indices=3 * torch.arange(WORLDS) + 2, allegro_hand_indices=torch.arange(WORLDS),
        goal_states=zeros(13), object_init_state=torch.tensor([[0, 0, 0.63, 0, 0, 0, 1.0] + [0] * 6] * WORLDS),
        arm_hand_dof_pos=zeros(JOINTS), arm_hand_dof_vel=zeros(JOINTS), arm_hand_dof_lower_limits=torch.tensor(low),
        arm_hand_dof_upper_limits=torch.tensor(high), set_actor_root_state_object_indices=[],
        target_volume_origin=torch.tensor([0, 0.05, 0.8]),
        target_volume_extent=torch.tensor([[-0.4, 0.4], [-0.05, 0.3], [-0.12, 0.25]]),
        hand_arm_default_dof_pos=torch.tensor([-1.571, 1.571, 0, 1.376, 0, 1.485, 2.358] + [0] * 16),
        reset_position_noise_x=0.1, reset_position_noise_y=0.1, reset_position_noise_z=0.02,
        reset_dof_pos_noise_arm=0.1, reset_dof_pos_noise_fingers=0.1, reset_dof_vel_noise=0.5, randomize=False,
        should_load_initial_states=False, rb_forces=zeros(len(bodies), 3), random_force_prob=zeros(),
        force_prob_range=torch.tensor([0.001, 0.1]), force_scale=0.0, dof_state=None, use_relative_control=False,
        prev_targets=zeros(JOINTS), cur_targets=zeros(JOINTS), act_moving_average=1.0, hand_dof_speed_scale=10.0,
        dt=0.01667, good_reset_boundary=0)
    return task


def scatter(task, w, step):
    """A random state of world w. Objects rise and fingers come nearer, so that every term happens; some fall."""
    near = rng.random() < 0.4
    root = task.root_state_tensor[task.object_indices[w]]
    place = rng.normal(size=3) * [0.1, 0.1, 0.12] + [0, 0, 0.6 + 0.03 * step]
    if near:
        place = task.goal_states[w, :3].numpy() + rng.normal(size=3) * 0.03
    if w == 1 and step == STEPS - 1:
        place[2] = 0.05
    root[:3], root[3:7] = torch.tensor(place), torch.tensor(random_rotation())
    if near and rng.random() < 0.7:
        root[3:7] = task.goal_states[w, 3:7]
    root[7:] = torch.tensor(rng.normal(size=6) * 4)
    for b in range(5):
        state = task.rigid_body_states[w, b]
        spread = 2.0 if w == 2 and step == STEPS - 1 else 0.3 / (1 + step * rng.random())
        state[:3] = torch.tensor(place + rng.normal(size=3) * spread)
        state[3:7], state[7:] = torch.tensor(random_rotation()), torch.tensor(rng.normal(size=6) * 4)
    task.arm_hand_dof_pos[w] = torch.tensor(low + (high - low) * rng.random(JOINTS))
    task.arm_hand_dof_vel[w] = torch.tensor(rng.normal(size=JOINTS) * 4)


def first(q):
    """x, y, z, w to w, x, y, z."""
    return torch.cat([q[..., 3:], q[..., :3]], -1)


def write_state(task, w):
    bodies, root, goal = task.rigid_body_states[w], task.root_state_tensor[task.object_indices[w]], task.goal_states[w]
    wrist, tips = bodies[0], bodies[1:]
    write("state", task.arm_hand_dof_pos[w], task.arm_hand_dof_vel[w], wrist[:3], first(wrist[3:7]), wrist[7:],
          tips[:, :3], first(tips[:, 3:7]), root[:3], first(root[3:7]), root[7:], goal[:3], first(goal[3:7]))


def run(name):
    task = make(name)
    everybody = torch.arange(WORLDS)
    lines.append("task " + name)
    x, y, z = np.array(sides(name)).T
    write("cuboids", [len(x), x.sum(), y.sum(), z.sum(), (x * y * z).sum(), (x * x * y).sum(), (y * y * z).sum()])
    for w in range(WORLDS):
        task.goal_states[w, 3:7] = torch.tensor(random_rotation())
    drawn.given.clear()
    task._reset_target(everybody)
    u = np.concatenate([g.reshape(WORLDS, -1) for g in drawn.given] + [np.zeros((WORLDS, 1))], 1)[:, :4]
    for w in range(WORLDS):
        write("goal", u[w], task.goal_states[w, :3])
    log = [[] for w in range(WORLDS)]
    for step in range(STEPS):
        due = task.reset_goal_buf.nonzero().squeeze(-1)
        drawn.given.clear()
        if len(due):
            task.reset_target_pose(due)
        if step == 3:
            task.successes[:4] += torch.tensor([48, 3, 0, 49])
            task.progress_buf[4:] += YAML[name]["episodeLength"] - 6
            task.near_goal_steps[:] = torch.clamp(task.near_goal_steps, min=YAML[name]["successSteps"] - 2)
        for w in range(WORLDS):
            scatter(task, w, step)
            before = len(lines)
            write("given", [step == 0, w in due, task.successes[w], task.progress_buf[w], task.near_goal_steps[w]],
                  task.object_scales[w])
            write_state(task, w)
            log[w] += lines[before:]
            del lines[before:]
        task.post_physics_step()
        for w in range(WORLDS):
            before = len(lines)
            terms = task.extras["episode_cumulative"]
            write("reward", [terms[t][w] for t in TERMS], [task.rew_buf[w], task.reset_buf[w], task.reset_goal_buf[w],
                                                          task.successes[w]])
            write("observation", task.obs_buf[w])
            log[w] += lines[before:]
            del lines[before:]
        task.reset_buf[:] = 0
    lines.extend(line for of_world in log for line in of_world)


for name in TASKS:
    run(name)

# ---- starts, targets, rotations: the same in all tasks -------------------------------------------------------------

task = make("reorientation")
for k in range(3):
    drawn.given.clear()
    q = task.get_random_quat(torch.arange(WORLDS))
    for w in range(WORLDS):
        write("rotation", drawn.given[0][w], first(q[w]))
drawn.given.clear()
task.reset_idx(torch.arange(WORLDS))
place_u, position_u, speed_u = drawn.given[2], drawn.given[-2], drawn.given[-1]
for w in range(WORLDS):
    write("start", place_u[w], task.root_state_tensor[task.object_indices[w], :3], position_u[w],
          task.arm_hand_dof_pos[w], speed_u[w], task.arm_hand_dof_vel[w])
task.reset_buf[:] = 0
task.prev_targets[:] = torch.tensor(low + (high - low) * rng.random((WORLDS, JOINTS)))
last, actions = task.prev_targets.clone(), torch.tensor(rng.uniform(-1, 1, (WORLDS, JOINTS)))
task.pre_physics_step(actions)
for w in range(WORLDS):
    write("target", last[w], actions[w], task.cur_targets[w])
with open(target, "w") as file:
    file.write("# Made by make_kuka.py from IsaacGymEnvs' classes.\n" + "\n".join(lines) + "\n")
