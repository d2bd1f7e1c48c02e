"""Checks packaging/spack/package.py without Spack: stubs record its directives, and make parses the arguments that it
would get. Prints "name<TAB>problem" lines (tests/install/test_packages.sh).

usage: spack_recipe.py TOP     the project's folder
"""
import re
import runpy
import subprocess
import sys
import types

from sweepdb_check import check

TOP = sys.argv[1]
said = []                           # (directive, arguments, keywords)


def directive(name):
    return lambda *arguments, **named: said.append((name, arguments, named))


class Package:
    """What a build system's class would be."""


def install_stand_ins():
    spack = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "depends_on", "conflicts"):
        setattr(spack, name, directive(name))
    spack.join_path = lambda *parts: "/".join(parts)
    spack.EnvironmentModifications = object
    sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), spack
    for name in ("", ".builtin", ".builtin.build_systems"):
        sys.modules["spack_repo" + name] = types.ModuleType("spack_repo" + name)
    for name, kind in (("makefile", "MakefilePackage"), ("cuda", "CudaPackage")):
        module = types.ModuleType("spack_repo.builtin.build_systems." + name)
        setattr(module, kind, type(kind, (Package,), {}))
        sys.modules[module.__name__] = module


class Specification:
    """Variants that are on; dependencies lie in /NAME."""

    def __init__(self, on, architectures=()):
        self.on = on
        self.variants = {"cuda_arch": types.SimpleNamespace(value=architectures)}

    def satisfies(self, wanted):
        assert wanted[0] in "+~", wanted
        return (wanted[1:] in self.on) == (wanted[0] == "+")

    def __getitem__(self, name):
        return types.SimpleNamespace(prefix="/" + name)


def targets(on, architectures=()):
    package = recipe()
    package.spec, package.prefix = Specification(on, architectures), "/prefix"
    return package.build_targets, package.install_targets


def recipe():
    install_stand_ins()
    said.clear()
    return runpy.run_path(TOP + "/packaging/spack/package.py")["PpoSweep"]()


def check_dependencies():
    """The Spack names of tests/tools/dependencies.sh, except those for tests, clusters, the wheel and Procgen only."""
    recipe()
    told = {arguments[0] for name, arguments, _ in said if name == "depends_on"}
    rows = re.findall(r'"(\w+):[^|"]*\|[^|"]*\|[^|"]*\|([^"]*)"', open(TOP + "/tests/tools/dependencies.sh").read())
    needed = {name for kind, name in rows if kind != "portable"} - {"", "gcc", "slurm munge", "slurm", "slurm +restd", "py-pip", "pkgconf"}
    needed -= {"libglvnd", "glib", "libx11"}
    assert len(needed) >= 9 and needed <= told, needed - told


def check_make():
    """Every name that make is told is one that the makefiles read."""
    text = "".join(open(f"{TOP}/{name}").read() for name in ("Makefile", "install.mk"))
    for on in ((), ("mpi", "curl"), ("cuda",), ("cuda", "nccl", "mpi")):
        for (goal, *settings), wanted in zip(targets(on, ("80", "90")), ("all", "install")):
            assert goal == wanted and "PREFIX=/prefix" in settings, (goal, settings)
            for setting in settings:
                name = setting.split("=")[0]
                assert re.search(rf"(^|ifeq \(\$\(origin |\$\(){name}\b", text, re.M), name
    said_of = subprocess.run(["make", "-s", "-C", TOP, "info", "BUILD=/nonexistent", *targets(("curl",))[0][1:]],
                             capture_output=True, text=True).stdout
    for line in ("MPI        no", "OpenBLAS   no", "CUDA       no", "MuJoCo     no", "libcurl    "):
        assert line in said_of, f"no {line!r} in {said_of}"
    settings = targets(("cuda",), ("80", "90"))[0]
    wanted = "CUDA_TARGETS=-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90"
    assert wanted in settings and "CUDA_HOME=/cuda" in settings and "HAS_NCCL=0" in settings, settings
    assert "NCCL_HOME=/nccl" in targets(("cuda", "nccl"), ("90",))[0]


def check_variants():
    recipe()
    variants = {arguments[0] for name, arguments, _ in said if name == "variant"} | {"cuda", "cuda_arch"}
    used = set()
    for _, _, named in said:
        used.update(re.findall(r"[+~](\w+)", named.get("when", "")))
    used.update(re.findall(r'satisfies\("[+~](\w+)"\)', open(TOP + "/packaging/spack/package.py").read()))
    assert used <= variants and used >= {"cuda", "nccl", "mpi", "curl"}, used


check("the recipe depends on what the build needs", check_dependencies)
check("make is told what the makefiles read", check_make)
check("conditions name variants that there are", check_variants)
check("end", lambda: None)
