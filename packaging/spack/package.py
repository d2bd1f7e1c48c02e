# The recipe of sweep for Spack 1.0 and later. docs/install.md says how it is used. Spack itself
# has not run it yet, only tests/tools/spack_recipe.py.
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class PpoSweep(MakefilePackage, CudaPackage):
    """Runs grids of PPO experiments on thousands of simulated 2D physics worlds, on a laptop or a
    Slurm cluster, and draws what came out."""

    git = "file:///path/to/sweep"  # your clone

    license("MIT")
    sanity_check_is_file = [join_path("bin", name) for name in ("sweep", "trainer", "analyze")]

    version("main", branch="main")

    variant("mpi", default=True, description="Runs on several processes")
    variant("nccl", default=True, when="+cuda", description="Several GPUs, by NCCL")
    variant("curl", default=True, description="slurmrestd, webhooks and MLflow")
    variant("microhttpd", default=True, description="The live page of sweep serve")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cmocka", type="build")
    depends_on("random123", type="build")
    depends_on("sqlite")
    depends_on("jansson")
    depends_on("libarchive")
    depends_on("libsodium")
    depends_on("zlib")
    depends_on("libgd")
    depends_on("onednn")
    depends_on("gnuplot", type=("build", "run"))
    depends_on("openmpi", when="+mpi")
    depends_on("curl", when="+curl")
    depends_on("libmicrohttpd", when="+microhttpd")
    depends_on("nccl", when="+nccl")

    conflicts("cuda_arch=none", when="+cuda", msg="choose the GPUs: cuda_arch=80,90")

    @property
    def settings(self):
        """What make is told. What the spec leaves out is left out, though the system has it."""
        spec = self.spec
        variants = ("mpi", "curl", "microhttpd")
        has = {f"HAS_{name.upper()}": spec.satisfies(f"+{name}") for name in variants}
        chosen = [f"{name}={int(value)}" for name, value in has.items()]
        chosen += ["HAS_OPENBLAS=0", "MUJOCO_HOME="]
        if not spec.satisfies("+cuda"):
            return chosen + ["CUDA_HOME="]
        architectures = spec.variants["cuda_arch"].value
        targets = " ".join(f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures)
        chosen += [f"CUDA_HOME={spec['cuda'].prefix}", f"CUDA_TARGETS={targets}"]
        if spec.satisfies("+nccl"):
            return chosen + [f"NCCL_HOME={spec['nccl'].prefix}"]
        return chosen + ["HAS_NCCL=0"]

    @property
    def build_targets(self):
        return ["all", f"PREFIX={self.prefix}", *self.settings]

    @property
    def install_targets(self):
        return ["install", f"PREFIX={self.prefix}", *self.settings]

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        env.set("LIBSIM", join_path(self.prefix.lib, "libsim.so.1"))
