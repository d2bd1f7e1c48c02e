"""Finds the files of a Python module, and versions of packages, without running any of their code (store/code/code.h).

    python -E find_code.py MODULE DIRECTORY FILES PACKAGES

MODULE: as in `import MODULE`; "": none. DIRECTORY: searched after Python's own paths. FILES: additional files, one per line.
PACKAGES: distributions whose versions are printed, separated by spaces. Prints lines of tab-separated fields:

    file     NAME  PATH       a file of the module, of its package, or of a module that it imports and that is not installed
    root     NAME  DIRECTORY  a top-level module that is not installed, and its directory
    package  NAME  VERSION

With -E, sys.path lacks the directories of PYTHONPATH while Python starts, so none of their sitecustomize modules runs. Modules
are found by path finders, and their imports in their syntax trees: nothing is imported.
"""

import ast
import importlib.machinery
import importlib.metadata
import os
import sys

FILES_MAX = 4096


class Problem(Exception):
    pass


def search_paths(directory):
    """Returns the search paths of a worker: PYTHONPATH, Python's own, and the experiment file's directory."""
    entries = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    python_path = entries if os.environ.get("PYTHONPATH") else []
    here = os.path.dirname(os.path.abspath(__file__))
    installed = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    return python_path, installed, [directory]


def find_on(name, paths):
    spec = importlib.machinery.PathFinder.find_spec(name, paths)
    return spec if spec and (spec.origin or spec.submodule_search_locations) else None


def find_editable(name):
    """Finds a package that is installed in editable mode: site-packages contains a finder for it."""
    for finder in sys.meta_path:
        if finder is importlib.machinery.PathFinder or not hasattr(finder, "find_spec"):
            continue
        spec = finder.find_spec(name, None)
        if spec and (spec.has_location or spec.submodule_search_locations):
            return spec
    return None


class Finder:
    """Collects the files of modules (files) and the directories of those that are not installed (roots)."""

    def __init__(self, directory):
        self.python_path, self.installed, self.experiment = search_paths(directory)
        self.files, self.roots, self.seen = {}, {}, set()

    def find(self, name):
        """Returns a top-level module's spec, and whether it is user code: neither installed nor part of Python."""
        if name in sys.builtin_module_names or name in getattr(sys, "stdlib_module_names", ()):
            return find_on(name, self.installed), False
        for paths, is_user_code in (self.python_path, True), (self.installed, False):
            spec = find_on(name, paths)
            if spec:
                return spec, is_user_code
        spec = find_editable(name)
        return (spec, True) if spec else (find_on(name, self.experiment), True)

    def add_file(self, name, path):
        if any(ord(c) < 32 or ord(c) == 127 for c in name + path):
            raise Problem(f"{path!r}: control characters in a file's name")
        self.files[name] = os.path.abspath(path)

    def add_package(self, top, package):
        """Adds the files of a package, except bytecode, hidden files and workspaces. If there are very many, only sources."""
        found, visited = [], set()
        for directory, subdirectories, names in os.walk(package, followlinks=True):
            subdirectories[:] = sorted(d for d in subdirectories if not d.startswith(".") and d != "__pycache__")
            if "results.db" in names or os.path.realpath(directory) in visited:
                subdirectories[:] = []
                continue
            visited.add(os.path.realpath(directory))
            found += [os.path.join(directory, name) for name in sorted(names)
                      if not name.startswith(".") and not name.endswith(".pyc")]
        if len(found) > FILES_MAX:
            suffixes = tuple(importlib.machinery.all_suffixes()) + (".pyx",)
            found = [path for path in found if path.endswith(suffixes)]
        for path in found:
            if os.path.isfile(path):
                self.add_file(os.path.join(top, os.path.relpath(path, package)), path)

    def add(self, name, even_installed):
        """Adds a top-level module and its imports; even_installed: also an installed one. Returns whether it exists."""
        if name in self.seen:
            return True
        self.seen.add(name)
        spec, is_user_code = self.find(name)
        if spec is None:
            return False
        if not is_user_code and not even_installed:
            return True
        before = set(self.files)
        if spec.submodule_search_locations:
            for package in spec.submodule_search_locations:
                self.add_package(name, package)
                if is_user_code:
                    self.roots[name] = os.path.dirname(os.path.abspath(package))
        elif spec.origin and os.path.isfile(spec.origin):
            self.add_file(os.path.basename(spec.origin), spec.origin)
            if is_user_code:
                self.roots[name] = os.path.dirname(os.path.abspath(spec.origin))
        if even_installed and set(self.files) == before:
            raise Problem(f"module {name} has no files: a module in an archive, or a built-in one, cannot be checked")
        if is_user_code:
            self.add_imports(set(self.files) - before)
        return True

    def add_imports(self, names):
        """Adds the user code that these files import."""
        for path in [self.files[name] for name in sorted(names) if name.endswith(".py")]:
            try:
                with open(path, "rb") as file:
                    tree = ast.parse(file.read(), path)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue  # the run reports it
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    imported = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    imported = [node.module]
                else:
                    continue
                for module in imported:
                    self.add(module.partition(".")[0], False)

    def add_extra(self, path):
        """Adds a file of env.code. A Python file can also be imported."""
        path = os.path.join(self.experiment[0], path)
        if not os.path.isfile(path):
            raise Problem(f"env.code: {path} is not a regular file; give paths relative to the experiment file's directory, or "
                          f"absolute ones")
        relative = os.path.relpath(path, self.experiment[0])
        self.add_file(path if relative.startswith("..") else relative, path)
        name, extension = os.path.splitext(os.path.basename(path))
        if extension == ".py" and name not in self.seen:
            self.seen.add(name)
            self.roots[name] = os.path.dirname(os.path.abspath(path))
            self.add_imports({path if relative.startswith("..") else relative})


def version_of(package, paths):
    for found in importlib.metadata.distributions(name=package, path=paths):
        return found.version
    return None


def main():
    module, directory, files, packages = sys.argv[1:5]
    directory = os.path.abspath(directory or ".")
    finder = Finder(directory)
    top = module.partition(".")[0]
    for path in filter(None, files.split("\n")):
        finder.add_extra(path)
    if module and not all(part.isidentifier() for part in module.split(".")):
        raise Problem(f"{module} is not the name of a module")
    if module and not finder.add(top, True):
        directories = ", ".join([directory] + finder.python_path)
        raise Problem(f"{sys.executable} has no module {top}, neither installed nor in {directories}")
    lines = [f"file\t{name}\t{path}" for name, path in finder.files.items()]
    lines += [f"root\t{name}\t{path}" for name, path in finder.roots.items()]
    for package in packages.split():
        version = version_of(package, finder.python_path + finder.installed)
        if version:
            lines.append(f"package\t{package}\t{version}")
    sys.stdout.write("\n".join(sorted(lines)) + "\n")


try:
    main()
except (Problem, OSError) as problem:
    sys.exit(str(problem))
