#!/usr/bin/env python3
"""Prints the rows of a study's table of verdicts: analyze claims --correct --json | study_table.py PAGE. The short
descriptions of claims are those of the page; everything else is the program's. A claim that the page lacks has "?"."""
import json
import math
import re
import sys


def number(value):
    return "-" if value is None else f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def interval(center, low, high):
    return number(center) + (f" [{number(low)}, {number(high)}]" if low is not None else "")


def measured(claim):
    if claim["estimate"] is None:
        return claim["reason"]
    values, claimed, prefix = [claim[key] for key in ("estimate", "low", "high")], claim["direction"], ""
    if claim["scale"] == "ratio":
        values = [None if value is None else math.exp(value) for value in values]
        prefix, claimed = "ratio ", claimed.replace(" 0", " 1")
    text = f"{prefix}{interval(*values)}, claimed {claimed}"
    if claim["condition"] and claim["condition_estimate"] is not None:
        condition = interval(*[claim["condition_" + key] for key in ("estimate", "low", "high")])
        text += f"; {claim['condition'].split(',')[0]} {condition}"
    return text + (f"; {claim['note']}" if claim["note"] else "")


def probability(p):
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.0095 else f"{p:.2f}"


def main():
    with open(sys.argv[1], encoding="utf-8") as page:
        described = dict(re.findall(r"^\| `(\w+)`: ([^|]*) \|", page.read(), re.MULTILINE))
    for claim in json.load(sys.stdin)["claims"]:
        print(f"| `{claim['id']}`: {described.get(claim['id'], '?')} | {claim['verdict']} | {measured(claim)} | "
              f"{probability(claim['p_for'])} |")


main()
