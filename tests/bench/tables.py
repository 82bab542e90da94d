# SPDX-License-Identifier: MIT
"""The arithmetic of the measurements, and how they are written down.

A ratio is taken pair by pair: of two samples of the same round, which lie side
by side in time. What is told is the median of the ratios and the smallest and
largest of them, so that a noisy machine shows as a wide spread and not as a
wrong figure.
"""
import collections

Spread = collections.namedtuple("Spread", "median low high")

BEGIN, END = "<!-- begin %s -->", "<!-- end %s -->"


class NoMarker(Exception):
    pass


def median(values):
    values = sorted(values)
    if not values:
        raise ValueError("median of nothing")
    middle = len(values) // 2
    if len(values) % 2:
        return values[middle]
    return (values[middle - 1] + values[middle]) / 2


def spread(values):
    return Spread(median(values), min(values), max(values))


def by_round(samples):
    """{round: sample}; two of one round are a mistake of ours."""
    rounds = {}
    for sample in samples:
        assert sample["round"] not in rounds
        rounds[sample["round"]] = sample
    return rounds


def ratios(ours, theirs, key="rate"):
    """One for each round that has both; none where theirs is 0 or unknown."""
    ours, theirs = by_round(ours), by_round(theirs)
    return [ours[number][key] / theirs[number][key]
            for number in sorted(ours) if number in theirs
            and theirs[number][key]]


def ratio_text(values):
    if not values:
        return "-"
    s = spread(values)
    if s.low == s.high:
        return "%.2f" % s.median
    return "%.2f (%.2f-%.2f)" % s


def big(value):
    """12,345: rates are compared by their digits."""
    return "{:,.0f}".format(value)


def median_text(samples, key, form=big):
    values = [sample[key] for sample in samples if sample.get(key) is not None]
    return form(median(values)) if values else "-"


def two(value):
    return "%.2f" % value


def size_text(count):
    for unit, letter in ((1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")):
        if count >= unit and count % unit == 0:
            return "%d%s" % (count // unit, letter)
    return str(count)


def size_of(text):
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
    if text[-1:].lower() in units:
        return int(text[:-1]) * units[text[-1].lower()]
    return int(text)


def markdown(heads, rows):
    """Left-aligned; a cell holds no bar."""
    lines = ["| %s |" % " | ".join(heads), "|%s" % ("---|" * len(heads))]
    for row in rows:
        assert len(row) == len(heads)
        lines.append("| %s |" % " | ".join(
            str(cell).replace("|", "/") for cell in row))
    return "\n".join(lines) + "\n"


def replace_part(text, name, part):
    """TEXT with PART between the markers of NAME."""
    begin, end = BEGIN % name, END % name
    if text.count(begin) != 1 or text.count(end) != 1 \
            or text.index(begin) > text.index(end):
        raise NoMarker("there is no one pair of %s and %s" % (begin, end))
    head, rest = text.split(begin)
    return head + begin + "\n" + part.rstrip("\n") + "\n" + end \
        + rest.split(end)[1]


def write_parts(path, parts):
    """Puts each part of {name: text} into the file; all or none."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, part in parts.items():
        text = replace_part(text, name, part)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
