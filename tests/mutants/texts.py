#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Says which mutants of the lists beside it do not fit the tree any more: what
they replace is to be found exactly once."""

import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def mutants(path):
    """(name, file, [text to replace, ...]) of each entry."""
    name = place = None
    texts, before = [], ""
    with open(path, encoding="utf-8") as lines:
        for line in lines.read().split("\n") + ["mutant "]:
            if line.startswith("mutant "):
                if name:
                    yield name, place, texts
                name, texts = line[7:], []
            elif line.startswith("file   "):
                place = line[7:]
            elif line.startswith("-") and before == "-":
                texts[-1] += "\n" + line[1:]
            elif line.startswith("-"):
                texts.append(line[1:])
            before = line[:1]


def main():
    found = 0
    for path in sorted(glob.glob(os.path.join(HERE, "*.list"))):
        for name, place, texts in mutants(path):
            with open(os.path.join(ROOT, place), encoding="utf-8") as file:
                content = file.read()
            for text in texts:
                if content.count(text) != 1:
                    print(f"{os.path.relpath(path, ROOT)}: {name}: its text "
                          f"is {content.count(text)} times in {place}")
                    found = 1
    return found


if __name__ == "__main__":
    sys.exit(main())
