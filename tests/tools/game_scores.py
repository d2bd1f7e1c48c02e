"""Compares the rows ATARI of analysis/runs/normalized.def with the package that they were taken from:

    python3 -m venv peer && peer/bin/pip install atarihns==1.0.1 && peer/bin/python tests/tools/game_scores.py
"""
import pathlib
import re
import sys

from atarihns.constants import ATARI_SCORES

table = pathlib.Path(__file__).parents[2] / "analysis/runs/normalized.def"
rows = re.findall(r'^ATARI\("(\w+)", (\S+), (\S+)\)$', table.read_text(), re.MULTILINE)
ours = {game: (float(random), float(human)) for game, random, human in rows}
theirs = {game.removesuffix("-v5"): scores for game, scores in ATARI_SCORES.items()}
differing = [game for game in ours.keys() | theirs.keys() if ours.get(game) != theirs.get(game)]
print(f"{len(ours)} games here, {len(theirs)} in the package, differing: {', '.join(differing) or 'none'}")
sys.exit(bool(differing) or len(rows) != len(ours))
