# SPDX-License-Identifier: MIT
"""Which configuration a seed means: every choice is a word or a number with a
name, so that NAME=VALUE lines repeat it whatever becomes of the draw.

  fault     NAME[=ARG] of the simulated drive, several with + between
  every, bites             --fault-every and --fault-cuts ("all": none given)
  cache drain order cutdrain flushms readyms spare logical offset seed
                           of the simulated drive
  sync depth block streams pattern fill patience    of the writer
  slots     of the region
  cycles    power cuts, one behind the other
  cuts      for each cycle when: aN/MS arms the cut before the writer starts,
            and it comes when N more writes have been taken, or after MS ms
            (and --ready-ms);
            cN/MS does so once the writer has begun
  second    from this cycle on it is another run on the same drive; 0: never
  control   every second cycle has no flush
  stop      N: the writer ends by itself after N writes; termMS: it is told to;
            0: neither
  kill      the writer is killed MS ms after its begin; -1: it is not
  log       the verifier has it
  lose      a part of the log's end has never arrived
  collector acknowledgements go there, and not into a file; then also
  ask, late                cut-asked is told first; so long before the cut
  net       what the network does, see proxy.py
  fuss      kill:AT or stop:AT:FOR, of the collector
"""
FAULTS = ("ignores-flush ignores-fua flushes-late flushes-late=20 "
          "flushes-partly flushes-partly=3 reorders weak-capacitor "
          "weak-capacitor=8192 tears tears=4096 tears-in-flight corrupts "
          "collateral blanks misdirects rolls-back stale-after-restore "
          "stale-after-restore=3 unreadable hangs dies").split()
HONEST = ("none", "protected")
# What a line of differences.list does not say, and --plain.
PLAIN = {
    "fault": "none", "every": 1, "bites": "all", "cache": "64m",
    "drain": 2000, "order": "fifo", "cutdrain": "oldest", "flushms": 0,
    "readyms": 0, "spare": "1m", "logical": 4096, "offset": 0,
    "sync": "flush:32", "depth": 32, "block": 4096, "streams": 1,
    "slots": 64, "pattern": "random", "fill": 1, "cycles": 1, "control": 0,
    "stop": "0", "kill": -1, "log": 1, "lose": 0, "collector": 0, "ask": 0,
    "late": 1, "net": "none", "fuss": "none", "patience": "2s", "second": 0,
    "seed": "1", "cuts": "c200/100",
}
MIB = 1 << 20


def pick(chance, text):
    """One word, each as likely as the others; numbers are ints."""
    word = chance.choice(text.split())
    return int(word) if word.lstrip("-").isdigit() else word


def draw_fault(chance):
    if chance.random() < 0.3:
        return chance.choice(("none", "none", "none", "protected"))
    if chance.random() < 0.2:
        return "protected+" + chance.choice(FAULTS)
    names = {}
    for _ in range(chance.choice((1, 1, 1, 1, 2, 2, 3))):
        fault = chance.choice(FAULTS)
        names[fault.split("=")[0]] = fault
    return "+".join(names.values())


def draw_drive(chance):
    return {
        "fault": draw_fault(chance),
        "every": pick(chance, "1 1 1 2 3"),
        "bites": pick(chance, "all all all all 1 1-2 2- 2"),
        "cache": pick(chance, "64m 64m 64m 256k 64k 16k 4k"),
        "drain": pick(chance, "2000 2000 2000 2000 100 30 3 0"),
        "order": pick(chance, "fifo random"),
        "cutdrain": pick(chance, "oldest part any"),
        "flushms": pick(chance, "0 0 0 1 3 10"),
        "readyms": pick(chance, "0 0 0 0 0 50 200"),
        "spare": pick(chance, "1m 1m 1m 0"),
        "logical": pick(chance, "512 4096"),
        "offset": pick(chance, "0 0 65536"),
    }


def draw_writer(chance):
    return {
        "sync": pick(chance, "flush:1 flush:4 flush:32 flush:100 flush:3ms "
                             "flush:20ms fua fua none none none"),
        "depth": pick(chance, "1 2 3 4 8 32 64"),
        "block": pick(chance, "512 512 1024 4096 4096 8192 16384 65536"),
        "streams": pick(chance, "1 1 1 2 3"),
        "slots": pick(chance, "1 2 3 4 5 7 11 16 33 64 150"),
        "pattern": pick(chance, "random random sequential"),
        "fill": pick(chance, "1 1 1 0"),
        "cycles": pick(chance, "1 1 2 2 3 5"),
        "control": pick(chance, "0 0 0 1"),
        "stop": str(chance.choice((0,) * 8 + (
            chance.randint(1, 300), f"term{chance.randint(0, 20)}"))),
        "kill": chance.choice((-1, -1, -1, chance.randint(0, 15))),
        "log": pick(chance, "1 1 1 0"),
        "lose": pick(chance, "0 0 0 1"),
    }


def draw_net(chance):
    at = chance.randint(5, 60)
    return chance.choice(["none"] * 5 + [
        f"slow:{chance.randint(1, 20)}",
        f"stall:{at}:{chance.randint(10, 150)}",
        f"reset:{at}:{chance.randint(1, 3)}",
        f"die:{at}", f"deaf:{at}", f"hole:{at}"])


def draw_collector(chance):
    at = chance.randint(5, 60)
    return {
        "collector": pick(chance, "0 1"),
        "ask": pick(chance, "0 1 1"),
        "late": pick(chance, "0 1 1"),
        "net": draw_net(chance),
        "fuss": chance.choice(["none"] * 4 + [
            f"kill:{at}", f"stop:{at}:{chance.randint(10, 200)}"]),
        "patience": "2s",
    }


def draw_cut(chance, c, prepared):
    """PREPARED: what the writer writes before its first numbered write."""
    budget = (8 if chance.random() < 0.03 else 0.7) * MIB // c["block"] + 8
    if chance.random() < 0.25:
        writes = chance.choice((0, 1, chance.randint(0, 50)))
        return f"c{writes}/{chance.randint(0, 30)}"
    if prepared and chance.random() < 0.05:
        return f"a{chance.randrange(prepared)}/500"
    if chance.random() < 0.3:
        ms = chance.randint(25, 90) + (50 if prepared else 0)
        return f"a{int(prepared + budget)}/{ms}"
    writes = chance.choice((
        chance.randint(0, 5), chance.randint(0, c["slots"]),
        chance.randint(0, 6 * c["slots"]), chance.randint(0, 300)))
    return f"a{int(prepared + min(writes, budget))}/400"


def settle(c):
    """What does not fit together."""
    if "tears-in-flight" in c["fault"]:
        c["logical"] = 4096
    c["block"] = max(c["block"], c["logical"])
    c["slots"] = max(c["slots"], c["streams"])
    if c["block"] == 65536:
        c["slots"] = min(c["slots"], 16)


def plain(pinned):
    """Nothing is drawn: the same whatever becomes of draw()."""
    c = PLAIN | pinned
    settle(c)
    while len(c["cuts"].split(",")) < c["cycles"]:
        c["cuts"] += "," + c["cuts"].split(",")[-1]
    return c


def draw(chance, pinned):
    c = {}
    for part in (draw_drive, draw_writer, draw_collector):
        c.update(part(chance))
    c["second"] = chance.choice((0,) * 7 + (1, 2))
    c.update(pinned)
    settle(c)
    c["seed"] = "%x" % chance.getrandbits(48)
    filled = c["fill"] * -(-c["slots"] * c["block"] // MIB)
    c["cuts"] = ",".join(
        draw_cut(chance, c, 4 + filled if n in (0, c["second"]) else 0)
        for n in range(c["cycles"]))
    c.update(pinned)
    return c


def is_honest(c):
    return all(fault in HONEST for fault in c["fault"].split("+"))


def pins_of(words):
    """NAME=VALUE words as a dictionary."""
    pinned = {}
    for word in words:
        name, value = word.split("=", 1)
        is_number = value.lstrip("-").isdigit() and name not in (
            "seed", "stop", "spare", "bites", "cuts")
        pinned[name] = int(value) if is_number else value
    return pinned


def words_of(c):
    return " ".join(f"{name}={value}" for name, value in c.items())
