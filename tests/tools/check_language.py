#!/usr/bin/env python3
"""Proves that a commit changes words only. Three kinds of commit, three proofs:

    check_language.py comments [BASE [HEAD]]      the token stream of each C file is identical
    check_language.py renames MAP [BASE [HEAD]]   the map, applied to the old tokens, gives the new ones, and no new
                                                  name existed before in a file that it enters
    check_language.py texts [BASE [HEAD]]         the token stream is identical once string literals are blanked

BASE defaults to HEAD~, HEAD to the commit HEAD; HEAD may be "worktree". MAP has one `old<TAB>new[<TAB>path prefix]` a
line, where a name with a slash is a header's path. A line with prefixes (separated by spaces) holds below them only.
Prints each file that differs and exits with 1 if there is one."""
import re
import subprocess
import sys

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>(?:u8|[LuU])?"(?:\\.|[^"\\\n])*")|(?P<char>'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<splice>\\\n)|(?P<newline>\n)|(?P<space>[ \t\f\v\r]+)|(?P<name>[A-Za-z_]\w*)|(?P<number>\.?\d[\w.]*)"""
    r"""|(?P<other>.)""", re.S)
SOURCES = re.compile(r"\.(c|h|cu|inc|def)$")


def tokens(text):
    """(kind, text) of each token; the end of a preprocessor directive is a token, other white space is none."""
    directive = at_start = False
    at_start = True
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        if kind in ("comment", "space", "splice"):
            continue
        if kind == "newline":
            if directive:
                yield "end", "\n"
            directive, at_start = False, True
            continue
        if at_start and match.group() == "#":
            directive = True
        at_start = False
        yield kind, match.group()


def joined(stream):
    """Adjacent string literals as one, so that a text may be broken elsewhere."""
    last = None
    for kind, text in stream:
        if kind == "string" and last:
            continue
        last = kind == "string"
        yield kind, '""' if kind == "string" else text


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def changes(base, head):
    """(old path, new path) of each C file that differs; None where it is absent."""
    ends = [base] if head == "worktree" else [base, head]
    for line in git("diff", "--name-status", "-M10%", *ends).splitlines():
        status, *paths = line.split("\t")
        old, new = paths[0], paths[-1]
        if SOURCES.search(old) or SOURCES.search(new):
            yield (None if status == "A" else old), (None if status == "D" else new)


def content(revision, path):
    if revision == "worktree":
        with open(path, encoding="utf-8") as file:
            return file.read()
    return git("show", f"{revision}:{path}")


class Map:
    def __init__(self, path):
        self.rows = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    old, new, *where = line.rstrip("\n").split("\t")
                    self.rows.append((old, new, where[0].split() if where else []))

    def of(self, path):
        """The names to be replaced in the file."""
        return {old: new for old, new, where in self.rows if not where or path.startswith(tuple(where))}

    def apply(self, path, stream):
        names = self.of(path)
        headers = {f'"{old}"': f'"{new}"' for old, new in names.items() if "/" in old}
        for kind, text in stream:
            yield kind, (names if kind == "name" else headers if kind == "string" else {}).get(text, text)

    def taken(self, path, stream):
        """New names that the old file has already, where it also has the old one."""
        present = {text for kind, text in stream if kind == "name"}
        return [new for old, new in self.of(path).items() if old in present and new in present]


def main(arguments):
    if not arguments or arguments[0] not in ("comments", "renames", "texts"):
        sys.exit(__doc__)
    mode, *arguments = arguments
    names = Map(arguments.pop(0)) if mode == "renames" else None
    base, head = (arguments + ["HEAD~", "HEAD"][len(arguments):])[:2]
    problems = 0
    for old, new in changes(base, head):
        if old is None or new is None:
            print(f"{old or new}: only one of the two trees has it")
            problems += 1
            continue
        before, after = list(tokens(content(base, old))), list(tokens(content(head, new)))
        if names:
            for name in names.taken(old, before):
                print(f"{old}: the new name {name} existed before")
                problems += 1
            before = list(names.apply(old, before))
        if mode == "texts":
            before, after = list(joined(before)), list(joined(after))
        if before != after:
            at = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b), min(len(before), len(after)))
            context = " ".join(text for _, text in before[max(0, at - 4):at])
            print(f"{new}: differs after `{context}`")
            problems += 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
