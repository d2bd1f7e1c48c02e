"""Finds the files of a Python module, and versions of packages, without running any of their code (store/code/code.h).

    python -E find_code.py MODULE FOLDER FILES PACKAGES

MODULE: as in `import MODULE`; "": none. FOLDER: where a module may lie beside those that Python finds by itself. FILES: further
files, lines. PACKAGES: distributions whose versions are wanted, with spaces between. Prints lines of fields with tabs between:

    file     NAME  PATH     a file of the module, of its package, or of another module that it imports from beside it
    root     NAME  FOLDER   a top-level module that is not installed, and the folder that it lies in
    package  NAME  VERSION

With -E no folder of PYTHONPATH is on sys.path while Python starts, so no sitecustomize of theirs runs. Modules are found by path
finders, their imports by their syntax trees: nothing is imported.
"""

import ast
import importlib.machinery
import importlib.metadata
import os
import sys

FILES_MOST = 4096


class Problem(Exception):
    pass


def search_paths(folder):
    """Folders of sys.path as a worker has them: those of PYTHONPATH, those of Python's own."""
    given = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    own = given if os.environ.get("PYTHONPATH") else []
    here = os.path.dirname(os.path.abspath(__file__))
    installed = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    return own, installed, [folder]


def find_on(name, paths):
    spec = importlib.machinery.PathFinder.find_spec(name, paths)
    return spec if spec and (spec.origin or spec.submodule_search_locations) else None


def find_elsewhere(name):
    """Packages that are installed to be edited have finders of their own, from site-packages."""
    for finder in sys.meta_path:
        if finder is importlib.machinery.PathFinder or not hasattr(finder, "find_spec"):
            continue
        spec = finder.find_spec(name, None)
        if spec and (spec.has_location or spec.submodule_search_locations):
            return spec
    return None


class Finder:
    def __init__(self, folder):
        self.given, self.installed, self.beside = search_paths(folder)
        self.files, self.roots, self.seen = {}, {}, set()

    def find(self, name):
        """The top-level module and whether it is the user's own: not one of an installed package or of Python."""
        if name in sys.builtin_module_names or name in getattr(sys, "stdlib_module_names", ()):
            return find_on(name, self.installed), False
        for paths, own in (self.given, True), (self.installed, False):
            spec = find_on(name, paths)
            if spec:
                return spec, own
        spec = find_elsewhere(name)
        return (spec, True) if spec else (find_on(name, self.beside), True)

    def add_file(self, name, path):
        if any(ord(c) < 32 or ord(c) == 127 for c in name + path):
            raise Problem(f"{path!r}: control characters in a file's name")
        self.files[name] = os.path.abspath(path)

    def add_package(self, top, folder):
        """All files of a package, but those that Python makes, hidden ones, and workspaces. Of very many only its sources."""
        found, walked = [], set()
        for place, folders, names in os.walk(folder, followlinks=True):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "__pycache__")
            if "results.db" in names or os.path.realpath(place) in walked:
                folders[:] = []
                continue
            walked.add(os.path.realpath(place))
            found += [os.path.join(place, name) for name in sorted(names) if not name.startswith(".") and not name.endswith(".pyc")]
        if len(found) > FILES_MOST:
            endings = tuple(importlib.machinery.all_suffixes()) + (".pyx",)
            found = [path for path in found if path.endswith(endings)]
        for path in found:
            if os.path.isfile(path):
                self.add_file(os.path.join(top, os.path.relpath(path, folder)), path)

    def add(self, name, wanted):
        """A top-level module; wanted: installed ones count too."""
        if name in self.seen:
            return True
        self.seen.add(name)
        spec, own = self.find(name)
        if spec is None:
            return False
        if not own and not wanted:
            return True
        before = set(self.files)
        if spec.submodule_search_locations:
            for folder in spec.submodule_search_locations:
                self.add_package(name, folder)
                if own:
                    self.roots[name] = os.path.dirname(os.path.abspath(folder))
        elif spec.origin and os.path.isfile(spec.origin):
            self.add_file(os.path.basename(spec.origin), spec.origin)
            if own:
                self.roots[name] = os.path.dirname(os.path.abspath(spec.origin))
        if wanted and set(self.files) == before:
            raise Problem(f"module {name} has no files: one in an archive, or built in, cannot be checked")
        if own:
            self.add_imports(set(self.files) - before)
        return True

    def add_imports(self, names):
        """Modules that these files import and that are the user's own, too."""
        for path in [self.files[name] for name in sorted(names) if name.endswith(".py")]:
            try:
                with open(path, "rb") as file:
                    tree = ast.parse(file.read(), path)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue  # the run will say so
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    imported = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    imported = [node.module]
                else:
                    continue
                for each in imported:
                    self.add(each.partition(".")[0], False)

    def add_extra(self, path):
        """A file of env.code; one of Python can be imported, too."""
        path = os.path.join(self.beside[0], path)
        if not os.path.isfile(path):
            raise Problem(f"env.code: {path} is no plain file; give paths from the experiment file's folder, or whole ones")
        relative = os.path.relpath(path, self.beside[0])
        self.add_file(path if relative.startswith("..") else relative, path)
        name, ending = os.path.splitext(os.path.basename(path))
        if ending == ".py" and name not in self.seen:
            self.seen.add(name)
            self.roots[name] = os.path.dirname(os.path.abspath(path))
            self.add_imports({path if relative.startswith("..") else relative})


def version_of(package, paths):
    for found in importlib.metadata.distributions(name=package, path=paths):
        return found.version
    return None


def main():
    module, folder, files, packages = sys.argv[1:5]
    folder = os.path.abspath(folder or ".")
    finder = Finder(folder)
    top = module.partition(".")[0]
    for path in filter(None, files.split("\n")):
        finder.add_extra(path)
    if module and not all(part.isidentifier() for part in module.split(".")):
        raise Problem(f"{module} is no name of a module")
    if module and not finder.add(top, True):
        places = ", ".join([folder] + finder.given)
        raise Problem(f"{sys.executable} has no module {top}, neither installed nor in {places}")
    lines = [f"file\t{name}\t{path}" for name, path in finder.files.items()]
    lines += [f"root\t{name}\t{path}" for name, path in finder.roots.items()]
    for package in packages.split():
        version = version_of(package, finder.given + finder.installed)
        if version:
            lines.append(f"package\t{package}\t{version}")
    sys.stdout.write("\n".join(sorted(lines)) + "\n")


try:
    main()
except (Problem, OSError) as problem:
    sys.exit(str(problem))
