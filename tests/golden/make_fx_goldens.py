#!/usr/bin/env python3
"""Writes tests/golden/fx_graphs.txt from torch 1.13.1: `python3 -B tests/golden/make_fx_goldens.py`.

Each net of fx_nets.py is traced by torch.fx and its text mapped by tests/fx_map.txt. Run by hand when the nets change; the
file is committed, so the tests need no torch."""

import os
import re

import torch.fx

import fx_nets

HERE = os.path.dirname(os.path.abspath(__file__))
CALL = re.compile(r"(call_function\[target=)(.*?)(\]\(args = )(.*)(, kwargs = \{)(.*)(\}\))$")


def read_map():
    rules = {"word": [], "target": {}, "default": set(), "required": {}}
    for line in open(os.path.join(HERE, "..", "fx_map.txt")):
        if line.startswith("#") or not line.strip():
            continue
        kind, left, right = line.split()
        if kind == "word":
            rules["word"].append((left, right))
        elif kind == "default":
            rules["default"].add((left, right))
        else:
            rules[kind][left] = right
    return rules


def split(text):
    """The parts of `a: 1, b: [2, 3]` at its outer commas."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in parts + [text[start:].strip()] if p]


def map_call(rules, match):
    target = rules["target"].get(match[2], match[2])
    args, kwargs = split(match[4][1:-1]), [tuple(k.split(": ", 1)) for k in split(match[6])]
    kwargs = [k for k in kwargs if k not in rules["default"]]
    args += [value for key, value in kwargs if rules["required"].get(target) == key]
    kwargs = [(key, value) for key, value in kwargs if rules["required"].get(target) != key]
    listed = "(%s,)" % args[0] if len(args) == 1 else "(%s)" % ", ".join(args)
    return match[1] + target + match[3] + listed + match[5] + ", ".join("%s: %s" % k for k in kwargs) + match[7]


def map_line(rules, line):
    for word, ours in rules["word"]:
        line = line.replace(word, ours)
    return CALL.sub(lambda match: map_call(rules, match), line)


def main():
    rules = read_map()
    with open(os.path.join(HERE, "fx_graphs.txt"), "w") as out:
        for name, net in fx_nets.NETS.items():
            graph = str(torch.fx.symbolic_trace(net()).graph)
            out.write("== %s\n%s\n" % (name, "\n".join(map_line(rules, line) for line in graph.splitlines())))


main()
