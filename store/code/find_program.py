"""Finds the source files of a program's command without running any of them (store/code/script.h).

    python -E find_program.py DIRECTORY WORD...

DIRECTORY: working directory of the command. WORD...: its words. Prints lines of tab-separated fields:

    file  PATH         a file of the program's own code: scripts, modules of -m, shell scripts, and the modules that they
                       import from the working directory, from the script's directory, or from a directory that they add
                       to sys.path; relative to DIRECTORY if it is near
    skip  NAME REASON  code, or a file that may be code, that is not among them

Installed packages, the standard library and virtual environments are no code of the program. Imports are found in syntax
trees, including those inside of functions and conditions: nothing is imported. A file that this Python cannot parse is
itself listed, and its imports are reported as skipped.
"""

import ast
import glob
import os
import re
import sys
import warnings

LINE_MAX = 48000  # bytes of all names and short hashes, since they become one line of a file
FILE_BYTES_MAX = 16 << 20
PYTHONS = re.compile(r"(python|pypy)[0-9.]*[a-z]?$")
STARTERS = {"accelerate", "torchrun", "deepspeed", "uv", "uvx", "poetry", "conda", "mamba", "micromamba", "pipenv", "pdm",
            "rye", "hatch", "pixi", "coverage", "kernprof", "ipython", "composer", "fabric", "lightning", "horovodrun"}
SOURCES = (".py", ".pyx", ".sh", ".c", ".cc", ".cpp", ".cu")
SHELLS = {"sh", "bash", "dash", "zsh", "ksh"}
INTERPRETERS = {"perl", "ruby", "Rscript", "julia", "node", "lua", "luajit", "octave", "tclsh", "php", "awk", "gawk", "make"}
SCRIPTS = SOURCES + (".pyw", ".bash", ".zsh", ".ksh", ".pl", ".rb", ".R", ".r", ".jl", ".js", ".lua", ".tcl", ".php", ".m")
LAUNCHERS = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "srun", "jsrun", "aprun", "env", "nice", "time"}
SYSTEM = ("/bin/", "/sbin/", "/usr/", "/lib/", "/lib64/", "/opt/", "/etc/", "/snap/", "/nix/", "/gnu/", "/proc/", "/dev/")
FAR = "../../../"
INSTALLED = {"site-packages", "dist-packages", "__pycache__"}


def is_file(path):
    return os.path.isfile(path)


def is_environment(path):
    return is_file(os.path.join(path, "pyvenv.cfg")) or os.path.isdir(os.path.join(path, "conda-meta"))


def evaluate(node, path):
    """Returns the text of a constant path expression, as it is usual around sys.path; None: it is another one."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return path if node.id == "__file__" else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        parts = evaluate(node.left, path), evaluate(node.right, path)
        return None if None in parts else os.path.join(*parts)
    if isinstance(node, ast.Attribute) and node.attr == "parent":
        inner = evaluate(node.value, path)
        return None if inner is None else os.path.dirname(inner)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "parents":
        inner, index = evaluate(node.value.value, path), getattr(node.slice, "value", None)
        if inner is None or not isinstance(index, int):
            return None
        for _ in range(index + 1):
            inner = os.path.dirname(inner)
        return inner
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("resolve", "absolute", "as_posix") and isinstance(node.func, ast.Attribute):
        return evaluate(node.func.value, path)
    if name == "getcwd" and not node.args:
        return "."
    parts = [evaluate(argument, path) for argument in node.args]
    if not parts or None in parts:
        return None
    if name == "dirname":
        return os.path.dirname(parts[0])
    if name in ("abspath", "realpath", "normpath", "str", "Path", "PurePath", "fspath", "expanduser"):
        return parts[0]
    return os.path.join(*parts) if name in ("join", "joinpath") else None


def is_system(path):
    """Whether an absolute path is a file of the system, which no user but root can change."""
    real = os.path.realpath(path)
    status = os.stat(real)
    return real.startswith(SYSTEM) and status.st_uid == 0 and not status.st_mode & 0o022


def is_executable(path):
    """Whether a file is a program or a script by itself, not data that happens to have the permission."""
    if not os.access(path, os.X_OK | os.R_OK):
        return False
    with open(path, "rb") as file:
        first = file.read(4)
    return first.startswith(b"#!") or first == b"\x7fELF"


class Finder:
    """Collects files in the order in which they are found, and the code that is left out."""

    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        self.paths = [self.directory, os.path.join(self.directory, "src")]  # as sys.path
        self.bases = [self.directory]  # of names in shell scripts
        self.files, self.seen, self.skipped, self.modules, self.pending = [], set(), {}, [], []
        self.script = None  # the first script of the command
        self.line = 0
        self.python_path = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
        self.paths += [entry for entry in self.python_path if self.is_below(entry)]
        self.above = self.find_above()
        self.entries = self.read_entries()

    def find_above(self):
        """Returns the directories above the working directory up to the project's: its packages may be installed in place."""
        above, inner = [], self.directory
        while inner != os.path.dirname(inner):
            if any(os.path.exists(os.path.join(inner, name)) for name in (".git", "pyproject.toml", "setup.py")):
                return above
            inner = os.path.dirname(inner)
            above += [inner, os.path.join(inner, "src")]
        return []

    def is_below(self, path):
        return (path + os.sep).startswith(self.directory.rstrip(os.sep) + os.sep)

    def name_of(self, path):
        """Returns the path as the list has it: relative to the working directory if it is near, wherever that lies."""
        path = os.path.abspath(path)
        relative = os.path.relpath(path, self.directory)
        return path if relative.startswith(FAR) else relative

    def skip(self, name, reason):
        self.skipped.setdefault(name, reason)

    def is_own(self, path, base):
        """Whether a path below `base` is the program's own: not in a virtual environment or installed."""
        inner = os.path.dirname(os.path.abspath(path))
        base = os.path.abspath(base)
        while len(inner) > len(base):
            if os.path.basename(inner) in INSTALLED or is_environment(inner):
                return False
            inner = os.path.dirname(inner)
        return True

    def add(self, path, base):
        """Adds a file. Returns whether it is a new one of the program's own."""
        name, real = self.name_of(path), os.path.realpath(path)
        if not self.is_own(path, base):
            return False
        if real in self.seen:
            return False
        self.seen.add(real)
        if re.search(r"[\s\"'\\]", name) or any(ord(c) < 32 or ord(c) == 127 for c in name):
            self.skip(repr(name), "blanks, quotes and control characters cannot be written in code")
        elif not os.access(path, os.R_OK):
            self.skip(name, "it cannot be read")
        elif self.line + len(os.fsencode(name)) + 16 > LINE_MAX:
            self.skip("files after the first %d" % len(self.files), "too many")
        else:
            self.files.append(name)
            self.line += len(os.fsencode(name)) + 16
        return True

    # ---- modules

    def locate(self, name, directories):
        """Finds one part of a module's name. Returns its file or None, and the directories of its submodules."""
        portions = []
        for directory in directories:
            path = os.path.join(directory, name)
            for file in [path + "/__init__.py"] + sorted(glob.glob(glob.escape(path) + "/__init__.*so")):
                if is_file(file) and self.is_own(file, directory):
                    return file, [path]
            for file in sorted(glob.glob(glob.escape(path) + ".*so")) + [path + ".so", path + ".py", path + ".pyx"]:
                if is_file(file) and self.is_own(file, directory):
                    return file, []
            if os.path.isdir(path) and self.is_own(path + "/x", directory):
                portions.append(path)
        return None, portions

    def add_module(self, parts, directories):
        """Adds a module and the packages that contain it. Returns the number of parts found, and its directories."""
        found = 0
        for part in parts:
            file, directories = self.locate(part, directories)
            if file is None and not directories:
                break
            if file:
                self.add_python(file, os.path.dirname(file))
            found += 1
        return found, directories

    def add_imported(self, module, names, directories, importer, is_relative):
        parts = module.split(".") if module else []
        found, places = self.add_module(parts, directories)
        before = len(self.seen)
        if found == len(parts):
            for name in names:
                if name == "*":
                    for place in places:
                        for file in sorted(glob.glob(glob.escape(place) + "/*.py")):
                            self.add_python(file, place)
                else:
                    self.add_module([name], places)
        elif is_relative or (found > 0 and self.locate(parts[0], directories)[0]):
            name = ("." if is_relative else "") + module
            self.skip(name, "imported by %s, but not found" % self.name_of(importer))
        if found == 0 and parts and len(self.seen) == before:
            for entry in self.python_path + self.above:
                if not self.is_below(entry) and self.locate(parts[0], [entry])[0]:
                    self.skip(parts[0], "in %s, outside of the working directory" % entry)

    def add_import(self, node, path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.add_imported(alias.name, [], self.paths, path, False)
        elif node.level == 0:
            self.add_imported(node.module, [alias.name for alias in node.names], self.paths, path, False)
        else:
            base = os.path.dirname(path)
            for _ in range(node.level - 1):
                base = os.path.dirname(base)
            if is_file(os.path.join(base, "__init__.py")):
                self.add_python(os.path.join(base, "__init__.py"), base)
            self.add_imported(node.module or "", [alias.name for alias in node.names], [base], path, True)

    def add_call(self, node, path):
        """Follows calls that load code: import_module, sys.path.append, and hydra.main, whose files are no code."""
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if function in ("import_module", "__import__") and node.args:
            name = evaluate(node.args[0], path)
            if name is None:
                self.skip("modules that %s imports by name" % self.name_of(path), "line %d" % node.lineno)
            elif name.startswith("."):
                base = os.path.dirname(path)
                for _ in range(len(name) - len(name.lstrip(".")) - 1):
                    base = os.path.dirname(base)
                self.add_imported(name.lstrip("."), [], [base], path, True)
            else:
                self.add_imported(name, [], self.paths, path, False)
        elif function in ("iter_modules", "walk_packages"):
            for file in sorted(glob.glob(glob.escape(os.path.dirname(path)) + "/**/*.py", recursive=True)):
                self.add_python(file, os.path.dirname(path))
        elif function == "main":
            self.skip_hydra({keyword.arg: evaluate(keyword.value, path) for keyword in node.keywords}, path)

    def skip_hydra(self, keywords, path):
        folder, name = keywords.get("config_path"), keywords.get("config_name")
        if folder is None and name is None:
            return
        folder = os.path.join(os.path.dirname(path), folder or ".")
        file = os.path.join(folder, (name or "config") + ("" if (name or "").endswith(".yaml") else ".yaml"))
        if is_file(file):
            self.skip(self.name_of(os.path.normpath(file)), "configuration that %s reads by Hydra" % self.name_of(path))
        elif os.path.isdir(folder) and folder != os.path.dirname(path):
            self.skip(self.name_of(os.path.normpath(folder)), "configuration that %s reads by Hydra" % self.name_of(path))

    def add_search_path(self, node, path):
        """Follows sys.path.append(DIRECTORY) and sys.path.insert(0, DIRECTORY)."""
        target = getattr(node.func, "value", None)
        if not (isinstance(target, ast.Attribute) and target.attr == "path" and getattr(target.value, "id", "") == "sys"):
            return
        if node.func.attr not in ("append", "insert", "extend") or not node.args:
            return
        entry = evaluate(node.args[-1], path)
        if entry is None:
            self.skip("what %s adds to sys.path" % self.name_of(path), "line %d" % node.lineno)
            return
        entry = os.path.normpath(os.path.join(self.directory, entry))
        if entry not in self.paths and os.path.isdir(entry) and not set(entry.split(os.sep)) & INSTALLED:
            self.paths.append(entry)

    def add_python(self, path, base):
        """Adds a Python file and everything that it imports."""
        if self.add(path, base):
            self.pending.append((path, None))
            self.drain()

    def add_code(self, text):
        """Follows the imports of python -c TEXT."""
        self.pending.append((os.path.join(self.directory, "<command>"), text.encode("utf-8", "surrogateescape")))
        self.drain()

    def drain(self):
        """Reads pending files; not recursively, since a chain of imports may be long."""
        if getattr(self, "is_draining", False):
            return
        self.is_draining = True
        while self.pending:
            path, text = self.pending.pop()
            if path.endswith("so"):
                continue
            tree = self.parse(path, text)
            if tree is not None:
                self.modules.append((path, tree))
                self.follow(path, tree)
        self.is_draining = False

    def parse(self, path, text):
        try:
            if text is None:
                if os.path.getsize(path) > FILE_BYTES_MAX:
                    raise ValueError("it is too long")
                with open(path, "rb") as file:
                    text = file.read()
            return ast.parse(text, path)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OSError) as problem:
            lines = text.decode("utf-8", "replace").splitlines() if isinstance(text, bytes) else []
            lines = [line.strip() for line in lines if re.match(r"\s*(import|from)\s[\w\s.,*]+(#.*)?$", line)]
            reason = getattr(problem, "msg", None) or getattr(problem, "strerror", None) or str(problem)
            place = "line %d: " % problem.lineno if getattr(problem, "lineno", None) else ""
            self.skip("some imports of %s" % self.name_of(path), place + " ".join(reason.split()))
            return self.parse_lines(lines)

    def parse_lines(self, lines):
        """Parses the imports of a file that is no Python of this version, such as one for Python 2."""
        tree = ast.parse("")
        for line in lines:
            try:
                tree.body += ast.parse(line).body
            except (SyntaxError, ValueError):
                continue
        return tree

    def follow(self, path, tree):
        try:
            self.follow_nodes(path, tree)
        except RecursionError:
            self.skip("some imports of %s" % self.name_of(path), "its expressions are too deep")

    def follow_nodes(self, path, tree):
        nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                self.add_search_path(node, path)
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.add_import(node, path)
            elif isinstance(node, ast.Call):
                self.add_call(node, path)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(SOURCES):
                self.add_named(node.value, path)

    def add_named(self, name, path):
        """Adds a source file that a constant names, such as the script of a subprocess or a kernel to compile."""
        for base in os.path.dirname(path), self.directory:
            file = os.path.join(base, name)
            if "\0" not in name and is_file(file) and (self.is_below(os.path.abspath(file)) or not os.path.isabs(name)):
                self.add_file(file, False)
                return

    def finish(self):
        """Repeats absolute imports while files have added directories to sys.path that others search."""
        known = 2  # the working directory and its src
        while known != len(self.paths):
            known = len(self.paths)
            for path, tree in list(self.modules):
                self.follow(path, tree)

    # ---- commands

    def add_script(self, path):
        self.script = self.script or self.name_of(path)
        folder, real = os.path.dirname(os.path.abspath(path)), os.path.dirname(os.path.realpath(path))
        for entry in folder, real:
            if entry not in self.paths:
                self.paths.insert(0, entry)
        self.add_python(path, folder)

    def add_main(self, name):
        """Adds the module of python -m NAME. Returns whether it is the program's own."""
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts):
            return False
        directories = self.paths
        for part in parts[:-1]:
            file, directories = self.locate(part, directories)
            if file is None and not directories:
                return False
        file, inside = self.locate(parts[-1], directories)
        mains = [os.path.join(place, "__main__.py") for place in inside if is_file(os.path.join(place, "__main__.py"))]
        if not file and not mains:
            return False
        main = mains[0] if mains else file
        self.script = self.script or self.name_of(main)
        self.add_python(main, os.path.dirname(main))
        self.add_module(parts, self.paths)
        return True

    def read_entries(self):
        """Returns the commands that the project's pyproject.toml defines, with their modules."""
        entries, section = {}, ""
        try:
            with open(os.path.join(self.directory, "pyproject.toml"), encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            return entries
        for line in lines:
            if line.startswith("["):
                section = line.strip()
            entry = re.match(r"""\s*["']?([\w.-]+)["']?\s*=\s*["']([\w.]+):""", line)
            if entry and section in ("[project.scripts]", "[tool.poetry.scripts]"):
                entries[entry.group(1)] = entry.group(2)
        return entries

    def add_shell(self, text, folder):
        """Follows the commands of a shell script, word by word."""
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        words = [word for word in re.split(r"[\s;&|()<>`]+", "\n".join(lines)) if word]
        words = [word.strip("\"'") for word in words]
        for word, following in zip(words, words[1:]):
            if word in ("cd", "pushd"):
                self.bases.append(os.path.join(self.directory, following))
        if folder not in self.bases:
            self.bases.append(folder)
        self.add_words(words, "a shell script")

    def add_file(self, path, is_shell, is_python=False):
        """Adds a file of the command by its kind. Returns whether it is a script."""
        try:
            with open(path, "rb") as file:
                first = file.read(1 << 16)
        except OSError as problem:
            self.skip(self.name_of(path), problem.strerror)
            return False
        line = first.split(b"\n")[0] if first.startswith(b"#!") else b""
        if path.endswith((".py", ".pyw")) or re.search(rb"python", line) or (is_python and "." not in os.path.basename(path)):
            self.add_script(path)
            return True
        self.add(path, os.path.dirname(os.path.abspath(path)))
        self.script = self.script or (self.name_of(path) if is_shell else None)
        if path.endswith((".sh", ".bash", ".zsh", ".ksh")) or is_shell or re.search(rb"\b(ba|da|z|k)?sh\b", line):
            key = "shell", os.path.realpath(path)
            if key not in self.seen and b"\0" not in first:
                self.seen.add(key)
                self.add_shell(first.decode("utf-8", "replace"), os.path.dirname(os.path.abspath(path)))
            return True
        return False

    def is_program(self, path, is_opened):
        """Whether a file that the command names by an absolute path is code: an interpreter opens it, or it is executed."""
        if os.path.basename(path) in LAUNCHERS or is_system(path) or not self.is_own(path, os.sep):
            return False
        return is_opened or path.endswith(SCRIPTS) or is_executable(path)

    def find_word(self, word, is_opened=False):
        """Finds the file of a word. is_opened: an interpreter takes it as its script."""
        for base in self.bases:
            path = os.path.join(base, word)
            if is_file(os.path.join(path, "__main__.py")):
                path = os.path.join(path, "__main__.py")
            if not is_file(path):
                continue
            if os.path.isabs(word) and not self.is_below(os.path.abspath(path)):
                return path if self.is_program(path, is_opened) else None
            if self.is_own(path, self.directory if self.is_below(path) else os.path.dirname(path)):
                return path
        return None

    def find_tail(self, word):
        """Finds the file of a word of a shell script that begins with a variable, as in "$HERE/train.py"."""
        tail = re.sub(r"^.*\$[^/]*/|^/+", "", word)
        return self.find_word(tail) if tail != word and tail.endswith(".py") else None

    def add_words(self, words, where):
        """Adds what the words of a command name: scripts, modules, code in the command itself."""
        is_python = is_shell = is_other = False
        missing = []
        found = len(self.files)
        following = iter(range(len(words)))
        for i in following:
            word, base, value = words[i], os.path.basename(words[i]), words[i + 1] if i + 1 < len(words) else None
            is_cluster = re.match(r"-[a-zA-Z]+$", word)
            if PYTHONS.match(base) or base in STARTERS or re.match(r"\$.*py", base, re.IGNORECASE):
                is_python, is_shell = True, False
                continue
            if base in SHELLS:
                is_shell = True
                continue
            if base in INTERPRETERS:
                is_other = True
                continue
            if is_cluster and word.endswith("c") and value is not None and (is_python or is_shell):
                if is_shell:
                    self.add_shell(value, self.directory)
                else:
                    self.add_code(value)
                next(following, None)
            elif is_python and value is not None and (word == "--module" or (is_cluster and word.endswith("m"))):
                if self.add_main(value):
                    is_python = False
                    next(following, None)
                else:
                    missing.append(value)
            elif is_python and re.match(r"(--module=|-m)[A-Za-z_]", word):
                name = word[9:] if word.startswith("--") else word[2:]
                if self.add_main(name):
                    is_python = False
                else:
                    missing.append(name)
            elif word and "\0" not in word:
                if word in self.entries and self.add_main(self.entries[word]):
                    continue
                is_opened = is_python or is_shell or is_other
                path = self.find_word(word, is_opened) or (self.find_tail(word) if where else None)
                if path and self.add_file(path, is_shell, is_python):
                    is_python = is_shell = False
                elif path:
                    is_other = False
                elif word.endswith(".py") and where:
                    self.skip(word, "named by %s, but not found" % where)
                elif "=" in word and is_file(os.path.join(self.directory, word.partition("=")[2])):
                    self.skip(word.partition("=")[2], "named by %s" % word)
        if len(self.files) == found:
            for name in missing:
                self.skip("the module %s" % name, "not found below %s" % self.directory)


def main():
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(4000)
    finder = Finder(sys.argv[1])
    finder.add_words(sys.argv[2:], None)
    finder.finish()
    lines = ["file\t" + name for name in sorted(finder.files, key=lambda name: name != finder.script)]
    for name, reason in sorted(finder.skipped.items()):
        lines.append("skip\t" + "\t".join("".join(c if c.isprintable() else "?" for c in text) for text in (name, reason)))
    sys.stdout.buffer.write("".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape"))


main()
