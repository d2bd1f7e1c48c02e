"""A worker of the trainer: runs environments of Gymnasium for it, over shared memory (trainer/envs/bridge/bridge.h).

    worker.py FD TRAINER TASK WORLDS LIBRARY OPTIONS

FD: the memory, inherited. TRAINER: its process. TASK: gym/<id>, atari/<Game> or envpool/<id>. LIBRARY: bridge_side.so, which
knows the memory's layout. OPTIONS: words key=value; encoder is net.encoder where that reads pixels, else none; the others are
settings of [atari]; check=1 asks for nothing but what Gymnasium's checker says of the environment. The trainer starts it;
nobody else needs to.

An episode that ends is followed by the next one's first observation in the same step, whatever the environment does by
itself: single environments are reset here, EnvPool's by their numbers.
"""

import ctypes
import hashlib
import importlib.machinery
import json
import os
import re
import sys
import threading
import traceback

RESET, STEP, QUIT, RESET_EVALUATION, INFO = 1, 2, 3, 4, 5  # BridgeCommand


class Problem(Exception):
    """What a user can mend: told without a traceback."""


def quoted_python():
    import shlex

    return shlex.quote(sys.executable)


def need(package, command=None):
    try:
        return __import__(package)
    except ImportError as error:
        raise Problem(
            f"{sys.executable} has no package {package} ({error}); install it with "
            f"{quoted_python()} -m pip install {command or package}, or name another Python by env.python"
        ) from None


def need_gymnasium():
    gym, oldest = need("gymnasium"), (0, 29)
    if tuple(int(part) for part in gym.__version__.split(".")[:2] if part.isdigit()) < oldest:
        raise Problem(
            f"{sys.executable} has gymnasium {gym.__version__}; gymnasium {'.'.join(map(str, oldest))} or newer is "
            f"needed: {quoted_python()} -m pip install --upgrade gymnasium"
        )
    return gym


def make_single(gym, name):
    try:
        return gym.make(name, disable_env_checker=True)  # check_env says it once a run
    except gym.error.Error as error:
        raise Problem(f"gymnasium {gym.__version__}: {error}") from None


def nearest(prefix, name, names):
    """What was perhaps meant."""
    import difflib

    lower = {known.lower(): known for known in names}
    found = [prefix + lower[known] for known in difflib.get_close_matches(name.lower(), lower, 3)]
    return f"; did you mean {' or '.join(found)}?" if found else ""


def stated(limit):
    """A time limit as an environment states it; 0: none, and what is too large to be one (some register 10**9)."""
    return int(limit) if limit and 0 < limit <= 1 << 20 else 0  # ENV_STEPS_MAX


# ---- modules that are not installed: exactly the files that the trainer has hashed (find_code.py)


class Source(importlib.machinery.SourceFileLoader):
    """Runs a source whose hash is known, never its compiled file."""

    hashes = {}  # path: BLAKE2b-128

    def get_code(self, name):
        path = self.get_filename(name)
        data = self.get_data(path)
        check_hash(path, data)
        return self.source_to_code(data, path)


class Extension(importlib.machinery.ExtensionFileLoader):
    def create_module(self, spec):
        with open(spec.origin, "rb") as file:
            check_hash(spec.origin, file.read())
        return super().create_module(spec)


def check_hash(path, data):
    known = Source.hashes.get(os.path.abspath(path))
    if known is None:
        raise ImportError(f"{path} is none of the files that this run's code consists of; name it by env.code")
    if hashlib.blake2b(data, digest_size=16).hexdigest() != known:
        raise ImportError(f"{path} has changed since the run began")


class OwnModules:
    """Finds top-level modules in the directories that find_code.py has printed, and the modules of their packages."""

    def __init__(self, roots):
        self.roots = roots

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in self.roots:
            return None
        machinery = importlib.machinery
        kinds = (Extension, machinery.EXTENSION_SUFFIXES), (Source, machinery.SOURCE_SUFFIXES)
        for directory in [self.roots[top]] if path is None else path:
            spec = machinery.FileFinder(directory, *kinds).find_spec(name)
            if spec and spec.loader is None:
                directories, spec = spec.submodule_search_locations, machinery.ModuleSpec(name, None, is_package=True)
                spec.submodule_search_locations = list(directories)
            if spec:
                return spec
        return None


def take_modules(path):
    roots = {}
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file.read().splitlines():
            kind, name, value = line.split("\t")
            (roots if kind == "root" else Source.hashes)[name] = value
    if roots:
        sys.meta_path.insert(0, OwnModules(roots))


# ---- pictures: height, width, channels of a frame, frames, whether channels are a frame's last dimension (BridgePicture)

NO_PICTURE = 0, 0, 0, 0, 0


def picture_of(space):
    """What the encoder is told of a space; None: it is no picture."""
    shape, colors = space.shape, (1, 3, 4)
    if space.dtype != "uint8" or min(shape, default=0) < 1:
        return None
    if len(shape) == 2:
        return shape + (1, 1, 1)
    if len(shape) == 3:
        return shape + (1, 1) if shape[2] in colors else shape[1:] + (1, shape[0], 0)
    return shape[1:] + (shape[0], 1) if len(shape) == 4 and shape[3] in colors else None


# ---- environments: each has observations, factors or values, low, high, limit, name, reset(seeds, evaluates), step(actions)


RESET_PARTS, STEP_PARTS = ("observation", "info"), ("observation", "reward", "terminated", "truncated", "info")


def parts_of(given, names, method, world):
    """What reset or step gives: as many parts as there are names."""
    if isinstance(given, (tuple, list)) and len(given) == len(names):
        return given
    count = f"{len(given)} values" if isinstance(given, (tuple, list)) else f"a {type(given).__name__}"
    raise Problem(f"{method} of world {world} gave {count} instead of {', '.join(names)}, which Gymnasium has")


def number_of(value, world, name):
    """A number, an array or tensor of one, or whatever else is one."""
    if isinstance(value, float):
        return value
    try:
        if isinstance(value, (str, bytes)):
            raise ValueError
        return float(value if isinstance(value, int) else need("numpy").asarray(value).item())
    except (TypeError, ValueError, OverflowError):
        raise Problem(f"world {world} gave the {name} {value!r:.80}, which is not a number") from None


def truth_of(value, world, name):
    return value if isinstance(value, bool) else value is not None and number_of(value, world, name) != 0


def finite_number(value):
    """Returns a number, a numpy scalar or an array or tensor without dimensions as a finite float; None: anything else."""
    try:
        if not isinstance(value, (float, int)) and getattr(value, "shape", None) == ():
            value = value.item()
        number = float(value) if isinstance(value, (float, int)) else float("nan")
    except Exception:
        return None
    return number if abs(number) < float("inf") else None


class Infos:
    """Sums the numbers of the worlds' infos by name (trainer/envs/info.h)."""

    NAMES = 64  # ENV_INFO_NAMES, with places for the successes, which are reported last
    NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]{0,62}")  # env_info_is_name
    AT_END = "is_success", "success"  # counted at the last step of an episode, as 0 or 1

    def __init__(self, worlds):
        self.columns, self.ignored = {}, ""  # {name: column}
        self.begin(worlds, False)

    def begin(self, worlds, evaluates):
        """Clears the sums after a reset; evaluates: counts only the first episode of each world."""
        self.evaluates, self.ended = evaluates, set()
        self.sums = [{} for _ in range(worlds)]  # {name: [sum, count]}

    def add(self, world, info, ended):
        """Adds the numbers of a step's info, of the dictionaries in it ("episode/r"), and of `final_info`."""
        if isinstance(info, dict) and world not in self.ended:
            self.add_numbers(world, "", info, ended)
            for key, value in dict.items(info):
                if isinstance(value, dict) and isinstance(key, str):
                    self.add_numbers(world, "" if key == "final_info" else key + "/", value, ended)
        if ended and self.evaluates:
            self.ended.add(world)

    def add_numbers(self, world, prefix, numbers, ended):
        sums = self.sums[world]
        for key, value in dict.items(numbers):
            number = finite_number(value)
            if number is None or not isinstance(key, str):
                continue
            name = prefix + key
            if name in self.AT_END:
                if not ended:
                    continue
                number = float(number != 0)
            total = sums.get(name)
            if total is None:
                if not self.has_column(name):
                    continue
                total = sums[name] = [0.0, 0]
            total[0] += number
            total[1] += 1

    def has_column(self, name):
        if name in self.columns:
            return True
        reserved = 0 if name in self.AT_END else sum(success not in self.columns for success in self.AT_END)
        if len(self.columns) >= self.NAMES - reserved or not self.NAME.fullmatch(name):
            self.ignored = self.ignored or name[:63]
            return False
        self.columns[name] = len(self.columns)
        return True

    def tell(self, side, bridge, shared):
        """Writes the sums into shared memory and clears them."""
        for name, column in self.columns.items():
            side.bridge_side_name(bridge, column, name.encode())
        side.bridge_side_name(bridge, self.NAMES, self.ignored.encode("ascii", "replace"))
        shared["info_sums"][:], shared["info_counts"][:] = 0, 0
        for world, sums in enumerate(self.sums):
            for name, (total, count) in sums.items():
                shared["info_sums"][world, self.columns[name]] = total
                shared["info_counts"][world, self.columns[name]] = count
            sums.clear()


def flat_box(gym, space):
    """Flattens a space to a Box of one row; None where its values have no fixed number."""
    try:
        flat = gym.spaces.utils.flatten_space(space)
    except NotImplementedError:
        return None
    return flat if isinstance(flat, gym.spaces.Box) else None


class Gym:
    """Environments of Gymnasium, one by one. Infos may be of any kind; those that are dictionaries are measured."""

    lives = False  # ends of episodes as they are counted are those that the learner sees

    def __init__(self, name, worlds, options):
        gym = need_gymnasium()
        limit = int(options["max_steps"])  # of an environment that states none

        def make():
            env = make_single(gym, name)
            return gym.wrappers.TimeLimit(env, limit) if limit and not stated(env.spec.max_episode_steps) else env

        one = make()
        self.space = one.observation_space
        self.describe_observations(self.flat_space(gym, self.space), options)
        self.describe_actions(gym, one.action_space)
        self.limit = stated(one.spec.max_episode_steps) or limit
        self.name = f"{name} of gymnasium {gym.__version__}"
        self.envs = [one] + [make() for _ in range(worlds - 1)]
        self.infos = Infos(worlds)

    def flat_space(self, gym, space):
        """The space as one of numbers; self.flatten makes an observation a row of it."""
        self.flatten, self.expected = None, space.shape
        if isinstance(space, gym.spaces.Box):
            return space
        several = gym.spaces.Dict, gym.spaces.Tuple, gym.spaces.Discrete, gym.spaces.MultiDiscrete, gym.spaces.MultiBinary
        flat = flat_box(gym, space) if isinstance(space, several) else None
        if flat is None:
            raise Problem(f"{self.odd_part(gym, space)} have no fixed number of values and cannot be flattened; register the "
                          f"environment with a wrapper that leaves them out, such as FilterObservation or MiniGrid's "
                          f"ImgObsWrapper")
        self.flatten, self.expected = lambda observation: gym.spaces.utils.flatten(space, observation), flat.shape
        return flat

    def odd_part(self, gym, space, name="observations"):
        """What of a space of several cannot be flattened: "observations['mission'] of MissionSpace"."""
        parts = getattr(space, "spaces", None)
        for key, part in parts.items() if hasattr(parts, "items") else enumerate(parts or ()):
            if flat_box(gym, part) is None:
                return self.odd_part(gym, part, f"{name}[{key!r}]")
        return f"{name} of {type(space).__name__}"

    def describe_observations(self, space, options):
        self.observations = int(need("numpy").prod(space.shape, dtype=int))
        self.picture = picture_of(space) if options["encoder"] != "none" else NO_PICTURE
        if self.picture is None:
            raise Problem(
                f"net.encoder = {options['encoder']} reads pictures of bytes, uint8 of shape (height, width), (height, "
                f"width, colors), (frames, height, width) or (frames, height, width, colors), but observations are "
                f"{space}; set net.encoder to none"
            )

    def describe_actions(self, gym, space):
        numpy = need("numpy")
        self.factors, self.classes, self.values, self.low, self.high = 0, [], 0, -1.0, 1.0
        if space.shape and 0 in space.shape:
            raise Problem(f"actions of {space} have no numbers")
        self.start, self.shape, self.kind, self.action_space = 0, space.shape, space.dtype, space
        if isinstance(space, gym.spaces.Discrete):
            self.classes, self.start = [int(space.n)], int(space.start)
        elif isinstance(space, gym.spaces.MultiDiscrete):
            self.classes, self.start = [int(n) for n in space.nvec.ravel()], getattr(space, "start", 0)
        elif isinstance(space, gym.spaces.MultiBinary):
            self.classes = [2] * int(numpy.prod(space.shape))
        elif isinstance(space, gym.spaces.Box):
            self.values = int(numpy.prod(space.shape, dtype=int))
            self.least, self.most = space.low, space.high
            same = (space.low == space.low.flat[0]).all() and (space.high == space.high.flat[0]).all()
            if same and numpy.isfinite([space.low.flat[0], space.high.flat[0]]).all():
                self.low, self.high = float(space.low.flat[0]), float(space.high.flat[0])
            else:
                self.low, self.high = -numpy.inf, numpy.inf
        else:
            raise Problem(f"actions of {space} cannot be had: Discrete, MultiDiscrete, MultiBinary or Box are needed")
        self.factors = len(self.classes)
        self.one = isinstance(space, gym.spaces.Discrete)

    def attach(self, shared):
        """The arrays shared with the trainer, into which observations are written."""
        self.rows = shared["observations"]

    def show(self, observation, world, row):
        """Writes an observation, whatever sequence or number it came as, into a row of numbers."""
        try:
            given = need("numpy").asarray(self.flatten(observation) if self.flatten else observation)
            if self.picture[0] and given.dtype != "uint8":
                raise Problem(f"the environment changed the type of its observations: {given.dtype}, not uint8")
            if given.shape != self.expected and not given.size == self.observations == 1:
                raise Problem(f"the environment changed the shape of its observations: world {world} gave {given.shape}, not "
                              f"{self.expected}")
            row[:] = given.ravel()
        except (TypeError, ValueError, LookupError) as error:
            raise Problem(f"world {world} gave an observation that is not in {self.space}: {error}") from None

    def reset(self, seeds, evaluates=False):
        self.infos.begin(len(self.envs), evaluates)
        for world, (env, seed) in enumerate(zip(self.envs, seeds)):
            env.unwrapped.action_space.seed(seed)  # for environments that draw from their own spaces
            env.unwrapped.observation_space.seed(seed)
            self.show(self.begin(world, seed=seed), world, self.rows[world])

    def begin(self, world, **seed):
        """The first observation of an episode."""
        return parts_of(self.envs[world].reset(**seed), RESET_PARTS, "reset", world)[0]

    def translate(self, actions):
        """What the trainer gave [worlds][factors or values] as the environments take it: in the space, of its type."""
        if self.values:
            actions = actions.reshape((len(actions),) + self.shape)
            if self.kind.kind == "f":
                return actions.astype(self.kind).clip(self.least, self.most)
            return actions.astype("float64").round().clip(self.least, self.most).astype(self.kind)
        actions = actions.astype("int64")
        actions = (actions[:, 0] if self.one else actions.reshape((len(actions),) + self.shape)) + self.start
        return actions.astype(self.kind)

    def step(self, actions, finals):
        numpy, worlds = need("numpy"), len(actions)
        rewards = numpy.zeros(worlds, "float64")
        terminated, truncated = numpy.zeros(worlds, bool), numpy.zeros(worlds, bool)
        for world, (env, action) in enumerate(zip(self.envs, self.translate(actions))):
            observation, reward, ended, cut, info = parts_of(env.step(action), STEP_PARTS, "step", world)
            rewards[world] = number_of(reward, world, "reward")
            terminated[world], truncated[world] = truth_of(ended, world, "end"), truth_of(cut, world, "end")
            self.infos.add(world, info, terminated[world] or truncated[world])
            if terminated[world] or truncated[world]:
                self.show(observation, world, finals[world])
                observation = self.begin(world)
            self.show(observation, world, self.rows[world])
        return None, rewards, terminated, truncated


class Atari(Gym):
    """Games of the Arcade Learning Environment, preprocessed by ale-py's AtariVectorEnv: 84 x 84 gray, 4 frames.

    All worlds are one vector, with threads of its own.

    With episodic_life AtariVectorEnv begins a new game after each lost life. Here it is told to show lost lives only, and
    lives begin as CleanRL's wrappers begin them: nothing is done for a step after a lost life; in games that have FIRE it
    is pressed for a step, and action 2 is done; frames before the first are copies of it. Rewards of these steps count to
    the step before. A vector cannot step some of its worlds, so each is a vector of one then; all are asked before the
    first is waited for."""

    FRAMES_MAX = 108000  # of a game, as everywhere
    FOR_TWO = "combat", "joust", "maze_craze", "warlords"

    def __init__(self, name, worlds, options):
        gym, numpy, ale = need("gymnasium"), need("numpy"), need("ale_py", "ale-py")
        from ale_py.vector_env import AtariVectorEnv

        games = self.games()
        if name not in games:
            raise Problem(f"ale-py {ale.__version__} has no game {name}{nearest('atari/', name, games)}")
        self.lives = options["episodic_life"] == "1"
        skip, fires = int(options["frame_skip"]), options["fire_reset"] == "1"
        self.parts = [range(world, world + 1) for world in range(worlds)] if self.lives else [range(worlds)]
        self.strengths = [1.0] * worlds  # of paddles
        self.envs = [
            AtariVectorEnv(
                games[name],
                len(part),
                max_num_frames_per_episode=self.FRAMES_MAX,
                repeat_action_probability=float(options["sticky"]),
                full_action_space=options["full_actions"] == "1",
                autoreset_mode="SameStep",
                frameskip=skip,
                noop_max=int(options["noop_max"]),
                use_fire_reset=fires and not self.lives,
                life_loss_info=self.lives,
                reward_clipping=False,
            )
            for part in self.parts
        ]
        one = self.envs[0]
        self.describe_observations(one.single_observation_space, options)
        self.describe_actions(gym, one.single_action_space)
        actions = [action.name for action in one.ale.get_action_set()]
        self.noop = [actions.index("NOOP")]
        self.fire = [actions.index("FIRE"), 2] if fires and "FIRE" in actions else []
        self.limit = -(-self.FRAMES_MAX // skip)
        self.name = f"{name} of ale-py {ale.__version__}"
        self.stack = one.single_observation_space.shape[0]
        self.young = {}  # world: observations of its present life, while they are fewer than frames shown
        self.played = [0] * worlds  # frames of the game
        self.shown = numpy.zeros((worlds,) + one.single_observation_space.shape, "uint8")
        self.given = self.shown

    @classmethod
    def games(cls):
        """Their ROMs, by Gymnasium's names."""
        from ale_py import registration, roms

        return {registration.rom_id_to_name(rom): rom for rom in roms.get_all_rom_ids() if rom not in cls.FOR_TWO}

    def attach(self, shared):
        """Shows pictures in shared memory itself."""
        if self.picture[0]:
            self.shown, self.given = shared["observations"].reshape(self.shown.shape), None

    def reset(self, seeds, evaluates=False):
        from concurrent.futures import ThreadPoolExecutor

        numpy = need("numpy")

        def begin(env, part):
            return env.reset(seed=numpy.array([seeds[world] for world in part]))

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            all = list(pool.map(begin, self.envs, self.parts))
        for part, (shown, info) in zip(self.parts, all):
            self.shown[part.start : part.stop] = shown
            self.played[part.start : part.stop] = info["episode_frame_number"].tolist()
        self.young.clear()
        if self.lives:
            self.begin_lives(dict.fromkeys(range(len(self.envs)), True), numpy.zeros(len(self.envs)), [False] * len(self.envs))
        return self.given

    def step(self, actions, finals):
        numpy, worlds = need("numpy"), len(actions)
        rewards = numpy.zeros(worlds, "float32")
        terminated, truncated, ends = (numpy.zeros(worlds, bool) for _ in range(3))
        chosen = actions[:, 0].tolist()
        for env, part in zip(self.envs, self.parts):
            env.ale.send(chosen[part.start : part.stop], self.strengths[: len(part)])
        play = self.step_lives if self.lives else self.step_games
        play(finals, rewards, terminated, truncated, ends)
        return self.given, rewards, terminated, truncated, ends

    def step_games(self, finals, rewards, terminated, truncated, ends):
        for env, part in zip(self.envs, self.parts):
            rows = slice(part.start, part.stop)
            self.shown[rows], rewards[rows], terminated[rows], truncated[rows], info = env.ale.recv()
            if "final_obs" in info:
                for world in part:
                    ends[world] = terminated[world] or truncated[world]
                    if ends[world]:
                        finals[world] = info["final_obs"][world - part.start].ravel()

    def receive(self, world):
        """Shows what a world gives. Its reward, ends, whether a game ended, and the last observation where one did."""
        shown, reward, terminated, truncated, info = self.envs[world].ale.recv()
        self.shown[world] = shown[0]
        played, before = info["episode_frame_number"].item(), self.played[world]
        self.played[world] = played
        terminated, truncated = terminated.item(), truncated.item()
        over = truncated or (terminated and played <= before)
        return reward.item(), terminated, truncated, over, info["final_obs"][0] if over else shown[0]

    def show_life(self, world, stack, age):
        """`age`: observations of this life. Frames of the stack from before it become copies of its first."""
        if age < self.stack:
            self.young[world] = age
            stack[: self.stack - age] = stack[self.stack - age]

    def step_lives(self, finals, rewards, terminated, truncated, ends):
        begun = {}
        for world in range(len(self.envs)):
            rewards[world], dead, late, over, final = self.receive(world)
            age = self.young.pop(world, self.stack) + 1
            if dead or late:
                terminated[world], truncated[world], ends[world] = dead, late, over
                final = final.copy()
                self.show_life(world, final, age)
                finals[world] = final.ravel()
                begun[world] = over
            else:
                self.show_life(world, self.shown[world], age)
        self.begin_lives(begun, rewards, ends)

    def begin_lives(self, begun, rewards, ends):
        """begun: {world: whether its game is a new one}."""
        left = {world: self.fire if new else self.noop + self.fire for world, new in begun.items()}
        while any(left.values()):
            going = [world for world, actions in left.items() if actions]
            for world in going:
                self.envs[world].ale.send(left[world][:1], self.strengths[:1])
            for world in going:
                reward, _, _, over, _ = self.receive(world)
                rewards[world] += reward
                ends[world] |= over
                left[world] = self.fire if over else left[world][1:]
        for world in begun:
            self.show_life(world, self.shown[world], 1)


class EnvPool(Gym):
    """Environments of EnvPool, which steps all of them in threads of its own. It resets an episode that ended in the
    next step, whose action it ignores; so they are reset by their numbers here. A seed is given where they are made:
    every reset makes them."""

    def __init__(self, name, worlds, options):
        gym, numpy, envpool = need("gymnasium"), need("numpy"), need("envpool")
        known = envpool.list_all_envs()
        if name not in known:
            raise Problem(f"envpool {envpool.__version__} has no {name}{nearest('envpool/', name, known)}")
        spec = envpool.make_spec(name)
        space = spec.gymnasium_observation_space
        if not isinstance(space, gym.spaces.Box):
            raise Problem(f"observations of {space} cannot be had: numbers of one shape are needed")
        self.describe_observations(space, options)
        self.describe_actions(gym, spec.gymnasium_action_space)
        own, limit = stated(spec.config.max_episode_steps), int(options["max_steps"])
        self.limit = own or limit
        self.options = {} if own or not limit else {"max_episode_steps": limit}
        self.task, self.name = name, f"{name} of envpool {envpool.__version__}"
        self.envs, self.numbers = None, numpy.arange(worlds)

    def reset(self, seeds, evaluates=False):
        if self.envs is not None:
            self.envs.close()
        self.envs = need("envpool").make(self.task, env_type="gymnasium", num_envs=len(self.numbers), seed=seeds[0], **self.options)
        return self.envs.reset()[0]

    def step(self, actions, finals):
        observations, rewards, terminated, truncated, info = self.envs.step(self.translate(actions), self.numbers)
        order = info["env_id"].argsort()
        observations, rewards = observations[order], rewards[order]
        terminated, truncated = terminated[order], truncated[order]
        ended = (terminated | truncated).nonzero()[0]
        if len(ended):
            finals[ended] = observations[ended].reshape(len(ended), -1)
            first, info = self.envs.reset(ended)
            observations[info["env_id"]] = first
        return observations, rewards, terminated, truncated


# ---- `worker.py list KIND lines|json` prints what env.task can name of a kind (`trainer tasks KIND`)


def list_tasks(kind, form):
    if kind == "atari":
        need("gymnasium"), need("ale_py", "ale-py")
        names = Atari.games()
    elif kind == "envpool":
        names = need("envpool").list_all_envs()
    elif kind == "gym":
        names = need("gymnasium").registry
    else:
        raise Problem(f"{kind} is none of gym, atari, envpool; the other tasks are listed without a name")
    tasks = [f"{kind}/{name}" for name in sorted(names)]
    print(json.dumps(tasks) if form == "json" else "\n".join(tasks))


# ---- what Gymnasium's checker says of an environment -----------------------------------------------------------------

CHECK_LINES, CHECK_LENGTH = 8, 300  # at most, and characters of a line


def one_line(text):
    """Words in one line, without the colors and other controls of a terminal."""
    import re

    text = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", str(text))
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= CHECK_LENGTH else text[: CHECK_LENGTH - 3] + "..."


def as_registered(gym, env):
    """Takes off the wrappers that gym.make has put around what the registration makes."""
    wrappers = gym.wrappers
    kinds = wrappers.TimeLimit, wrappers.OrderEnforcing, getattr(wrappers, "PassiveEnvChecker", wrappers.OrderEnforcing)
    while isinstance(env, kinds):
        env = env.env
    return env


def run_checker(gym, name):
    """Runs Gymnasium's check_env. Gives lines of what it warns of, the last of what it fails by; and the environment."""
    import inspect
    import warnings
    from gymnasium.utils.env_checker import check_env

    failure, env = None, None
    needless = {"skip_render_check", "skip_close_check"} & set(inspect.signature(check_env).parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gym.logger.min_level = 30  # WARN, whatever an environment has made of it
        try:
            env = as_registered(gym, make_single(gym, name))
            check_env(env, **dict.fromkeys(needless, True))
        except BaseException as error:
            failure = one_line(error) if isinstance(error, AssertionError) else one_line(f"{type(error).__name__}: {error}")
    lines = []
    for warning in caught:
        kind, _, said = one_line(warning.message).partition(": ")
        if kind in ("WARN", "ERROR") and "different from the unwrapped version" not in said:
            lines.append(f"warns: {said}")
    if failure is not None:
        lines.append(f"fails: {failure or 'an assertion without a word'}")
    return lines, env


def check(task, tell):
    """Tells lines, each once, and how many there are beyond the most; only then closes the environment."""
    lines, env = run_checker(need_gymnasium(), task.partition("/")[2])
    lines = list(dict.fromkeys(lines))
    if len(lines) > CHECK_LINES:
        more = len(lines) - CHECK_LINES + 1
        lines[CHECK_LINES - 2 : -1] = [f"warns: and of {more} things more"]
    tell("\n".join(lines))
    try:
        env.close()
    except BaseException:
        pass  # the checker may have closed it already, or it was never made


# ---- the bridge ------------------------------------------------------------------------------------------------------


def make(task, worlds, options):
    kind, _, name = task.partition("/")
    return {"gym": Gym, "atari": Atari, "envpool": EnvPool}[kind](name, worlds, options)


def load(path):
    side = ctypes.CDLL(path)
    side.bridge_side_open.restype = side.bridge_side_offer.restype = side.bridge_side_array.restype = ctypes.c_void_p
    side.bridge_side_offer.argtypes = [ctypes.c_void_p] + [ctypes.c_int] * 2 + [ctypes.c_void_p, ctypes.c_int]
    side.bridge_side_offer.argtypes += [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    side.bridge_side_offer.argtypes += [ctypes.c_float, ctypes.c_float, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p]
    side.bridge_side_array.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    side.bridge_side_name.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p]
    side.bridge_side_next.argtypes = [ctypes.c_void_p]
    side.bridge_side_answer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    side.bridge_side_tell.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    side.bridge_side_forked.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return side


def words(env):
    """Numbers of a row of observations in shared memory: of a picture the bytes, four to a number."""
    return -(-env.observations // 4) if env.picture[0] else env.observations


def describe_action_space(env):
    """What the environment's own step takes, as JSON, for exported policies; unbounded sides are null."""
    space = getattr(env, "action_space", None)
    if space is None:
        return ""
    facts = {"type": type(space).__name__, "shape": list(space.shape), "dtype": str(space.dtype)}
    if env.values:
        facts.update((side, [number if abs(number) < float("inf") else None for number in bounds.ravel().tolist()])
                     for side, bounds in (("low", space.low), ("high", space.high)))
    else:
        facts["start"] = getattr(env.start, "tolist", lambda: env.start)()
    return json.dumps(facts)


def offer(side, bridge, file, env):
    classes = (ctypes.c_int32 * max(1, env.factors))(*env.classes)
    if env.factors > 64 or max(env.classes, default=0) > 255:
        raise Problem(f"{env.factors} actions of up to {max(env.classes)} classes; at most 64 actions of 255 classes are possible")
    if words(env) > 1 << 24:  # ENV_OBSERVATIONS_MAX
        raise Problem(f"observations of {words(env)} numbers; at most {1 << 24} are possible")
    picture = (ctypes.c_int32 * 5)(*env.picture)
    whole = side.bridge_side_offer(bridge, file, words(env), picture, env.lives, env.factors, classes, env.values, env.low,
                                   env.high, env.limit, env.name.encode(), describe_action_space(env).encode())
    if not whole:
        raise Problem("no memory to share")
    return whole


def arrays(side, bridge, env, worlds):
    """The shared arrays as numpy's."""
    numpy = need("numpy")

    def array(name, kind, columns):
        count = worlds * columns
        kind = numpy.dtype(kind)
        memory = (ctypes.c_char * (count * kind.itemsize)).from_address(side.bridge_side_array(bridge, name.encode()))
        flat = numpy.frombuffer(memory, dtype=kind, count=count)
        return flat.reshape(worlds, columns) if columns != 1 or name in ("observations", "finals", "actions") else flat

    def rows(name):
        if env.picture[0]:
            return array(name, "uint8", 4 * words(env))[:, : env.observations]
        return array(name, "float32", env.observations)

    action = ("uint8", env.factors) if env.factors else ("float32", env.values)
    return {
        "observations": rows("observations"),
        "finals": rows("finals"),
        "actions": array("actions", *action),
        "rewards": array("rewards", "float32", 1),
        "terminated": array("terminated", "uint8", 1),
        "truncated": array("truncated", "uint8", 1),
        "ends": array("ends", "uint8", 1),
        "seeds": array("seeds", "int64", 1),
        "info_sums": array("info_sums", "float64", Infos.NAMES),
        "info_counts": array("info_counts", "float64", Infos.NAMES),
    }


def put(target, source, what):
    """Copies what all worlds gave into shared memory. None: it is there."""
    if source is None:
        return
    source = need("numpy").asarray(source)
    if target.dtype == "uint8" and source.dtype != "uint8":
        raise Problem(f"the environment changed the type of its {what}: {source.dtype}, not uint8")
    if source.shape != target.shape:
        flat, source = target.reshape(len(target), -1), source.reshape(len(source), -1)
        if source.shape != flat.shape:
            raise Problem(f"the environment changed the shape of its {what}: {source.shape}, not {target.shape}")
        flat[:] = source
    else:
        target[:] = source


def check_finite(target, what):
    numpy = need("numpy")
    if target.dtype.kind == "f" and not numpy.isfinite(target).all():
        world = int(numpy.argwhere(~numpy.isfinite(target.reshape(len(target), -1)))[0][0])
        raise Problem(f"world {world} gave {what} that are not finite")


def check_finals(finals, terminated, truncated):
    """A state that is not finite may end an episode: it is shown as zeros. A time limit's is learnt from."""
    numpy = need("numpy")
    if finals.dtype.kind != "f":
        return
    for world in numpy.flatnonzero(numpy.logical_or(terminated, truncated)):
        if numpy.isfinite(finals[world]).all():
            continue
        if not terminated[world]:
            raise Problem(f"world {world} gave a last observation that is not finite")
        finals[world] = 0


def serve(side, bridge, env, shared):
    while True:
        command = side.bridge_side_next(bridge)
        if command == QUIT:
            return
        if command in (RESET, RESET_EVALUATION):
            put(shared["observations"], env.reset(shared["seeds"].tolist(), command == RESET_EVALUATION), "observations")
            check_finite(shared["observations"], "observations")
        elif command == STEP:
            observations, rewards, terminated, truncated, *ends = env.step(shared["actions"], shared["finals"])
            put(shared["observations"], observations, "observations")
            check_finite(shared["observations"], "observations")
            put(shared["rewards"], rewards, "rewards")
            check_finite(shared["rewards"], "rewards")
            check_finals(shared["finals"], terminated, truncated)
            shared["terminated"][:] = terminated
            shared["truncated"][:] = truncated
            shared["ends"][:] = ends[0] if env.lives else terminated | truncated
        elif command == INFO:
            env.infos.tell(side, bridge, shared)
        side.bridge_side_answer(bridge, None)


def main():
    if sys.argv[1] == "list":
        try:
            return list_tasks(*sys.argv[2:4])
        except Problem as problem:
            sys.exit(str(problem))
    file, trainer, worlds = (int(sys.argv[i]) for i in (1, 2, 4))
    task, library, options = sys.argv[3], sys.argv[5], dict(word.split("=", 1) for word in sys.argv[6].split())
    os.dup2(2, 1)  # what environments print does not mix with what the trainer prints
    side = load(library)
    bridge = side.bridge_side_open(file, trainer)
    if not bridge:
        sys.exit("worker.py is started by the trainer, and of the same version")
    if "SWEEP_MODULES" in os.environ:
        take_modules(os.environ["SWEEP_MODULES"])
    thread = threading.get_ident()
    os.register_at_fork(after_in_child=lambda: side.bridge_side_forked(bridge, threading.get_ident() == thread))
    try:
        if "check" in options:
            check(task, lambda text: side.bridge_side_tell(bridge, text.encode()))
            return side.bridge_side_answer(bridge, None)
        env = make(task, worlds, options)
        bridge = offer(side, bridge, file, env)
        shared = arrays(side, bridge, env, worlds)
        env.attach(shared)
        side.bridge_side_answer(bridge, None)
        serve(side, bridge, env, shared)
    except Problem as problem:
        side.bridge_side_answer(bridge, str(problem).encode())
        sys.exit(1)
    except BaseException:
        side.bridge_side_answer(bridge, traceback.format_exc().encode()[-8000:])
        sys.exit(1)


if __name__ == "__main__":
    main()
