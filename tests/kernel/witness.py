# SPDX-License-Identifier: MIT
"""What nbdkit's log filter saw, against what the writer's log calls durable.

    witness.py NBDKIT_LOG ACKLOG

P1, told by a program that nobody here wrote: each write of the log's last
cycle that is called durable was answered well, and then a FLUSH came in and
was answered well; or it came with FUA. The log must begin with the cycle.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "oracle"))
import formats                                                # noqa: E402

CALL = re.compile(r"connection=(\d+) (\.\.\.)?(Write|Flush) id=(\d+)(.*)")


def read_calls(lines):
    """(writes, flushes): what was answered well, each as it came in."""
    open_calls, writes, flushes = {}, [], []
    for at, line in enumerate(lines):
        match = CALL.search(line)
        if not match:
            continue
        connection, is_end, kind, number, rest = match.groups()
        values = dict(re.findall(r"(\w+)=(\S+)", rest))
        if not is_end:
            open_calls[connection, number] = (at, values)
            continue
        began, asked = open_calls.pop((connection, number))
        if values["return"] != "0":
            continue
        if kind == "Flush":
            flushes.append(began)
        else:
            writes.append((began, at, int(asked["offset"], 16),
                           asked["fua"] == "1"))
    return sorted(writes), flushes


def unproven(log, writes, last_flush):
    """The durable writes that the witness does not know to be so."""
    cycle, at_place = log.cycles[-1], {}
    for _, answered, offset, is_fua in writes:
        at_place.setdefault(offset, []).append((answered, is_fua))
    for stream, first in enumerate(cycle.firsts):
        for seq in range(first, cycle.upper(stream) + 1):
            slot = formats.slot_of(log.run, stream, seq)
            seen = at_place.get(log.run.start + slot * log.run.block, [])
            answered, is_fua = seen.pop(0) if seen else (None, False)
            if (stream, seq) not in cycle.durable or is_fua:
                continue
            if answered is None or answered > last_flush:
                yield seq


def main(argv):
    with open(argv[1], encoding="utf-8") as file:
        writes, flushes = read_calls(file)
    with open(argv[2], "rb") as file:
        log = formats.AckLog(file.read())
    missing = list(unproven(log, writes, max(flushes, default=-1)))
    durable = len(log.cycles[-1].durable)
    if missing or not durable:
        print(f"{len(missing)} of {durable} durable writes are not known to "
              f"be so, the first is {missing[:1]}")
        return 1
    print(f"{durable} durable writes, each known to be so; "
          f"{len(writes)} writes and {len(flushes)} flushes answered")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
