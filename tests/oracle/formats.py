# SPDX-License-Identifier: MIT
"""What lies on the drive and in the log, decoded anew from docs/FORMATS.md.

Shares no code with plugpull and trusts nothing that it reads. Checksums and
keystreams of many atoms are computed side by side: byte k of all of them is
one Python string, translate() is a table look-up on all of it, and a long
integer is its exclusive or. That is the only trick here.
"""
import hashlib
import struct
from collections import namedtuple

ATOM, MIB, M64 = 512, 1 << 20, (1 << 64) - 1
GOOD, FOREIGN, BLANK, CORRUPT = "good", "foreign", "blank", "corrupt"


class Damaged(Exception):
    """The log contradicts its format."""


# CRC-32C, the reflected polynomial of RFC 3720
CRC = list(range(256))
for _ in range(8):
    CRC = [n >> 1 ^ (0x82F63B78 if n & 1 else 0) for n in CRC]
CRC_LANES = [bytes(n >> shift & 255 for n in CRC) for shift in (0, 8, 16, 24)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def number(data):
    return int.from_bytes(data, "little")


def xor(a, b):
    return (number(a) ^ number(b)).to_bytes(len(a), "little")


def crc32c_many(messages):
    """CRC-32C of each of several messages of one length."""
    size, joined = len(messages[0]), b"".join(messages)
    lane = [b"\xff" * len(messages)] * 4
    for k in range(size):
        index = xor(lane[0], joined[k::size])
        t = [index.translate(table) for table in CRC_LANES]
        lane = [xor(lane[n + 1], t[n]) for n in range(3)] + [t[3]]
    return [0xFFFFFFFF ^ number(bytes(crc)) for crc in zip(*lane)]


# AES-128 (FIPS 197), encryption only, many blocks side by side
def times2(v):
    return v << 1 ^ (0x11B if v & 0x80 else 0)


def _sbox():
    power = [1]
    for _ in range(254):
        power.append(power[-1] ^ times2(power[-1]))     # powers of 3
    for v in range(256):
        i = power[-power.index(v) % 255] if v else 0     # its inverse
        wide = i << 8 | i
        yield (i ^ wide >> 4 ^ wide >> 5 ^ wide >> 6 ^ wide >> 7) & 255 ^ 0x63


SBOX = bytes(_sbox())
SBOX2 = bytes(times2(v) for v in SBOX)


def aes_round_keys(key):
    words, rcon = [key[i:i + 4] for i in (0, 4, 8, 12)], 1
    while len(words) < 44:
        word = words[-1]
        if len(words) % 4 == 0:
            word = (word[1:] + word[:1]).translate(SBOX)
            word, rcon = bytes([word[0] ^ rcon]) + word[1:], times2(rcon)
        words.append(xor(word, words[-4]))
    return [b"".join(words[i:i + 4]) for i in range(0, 44, 4)]


def aes_many(key, blocks):
    """AES-128 of each 16 bytes of blocks."""
    keys, count = aes_round_keys(key), len(blocks) // 16
    state = [xor(blocks[p::16], bytes([keys[0][p]]) * count)
             for p in range(16)]
    for turn in range(1, 11):
        rows = [state[(p + 4 * (p % 4)) % 16] for p in range(16)]
        one = [number(r.translate(SBOX)) for r in rows]
        if turn < 10:
            two, plain = [number(r.translate(SBOX2)) for r in rows], one
            one = []
            for p in range(16):
                a, b, c, d = (p - p % 4 + (p + k) % 4 for k in range(4))
                one.append(two[a] ^ two[b] ^ plain[b] ^ plain[c] ^ plain[d])
        state = [(v ^ number(bytes([k]) * count)).to_bytes(count, "little")
                 for v, k in zip(one, keys[turn])]
    out = bytearray(len(blocks))
    for p in range(16):
        out[p::16] = state[p]
    return bytes(out)


# Atoms
Atom = namedtuple("Atom", "kind cycle run seq offset index length stream "
                  "first w issued", defaults=[None] * 10)
HEADER = struct.Struct("<4sHHII16sQQHHHHQQQ")


def numbers_right(a):
    if a.offset % ATOM or a.offset < a.index * ATOM or a.stream > 63 \
            or not a.index < a.length or not 1 <= a.length <= 8192:
        return False
    if a.seq == 0:
        return (a.cycle, a.stream, a.index, a.w, a.issued, a.length,
                a.first) == (0, 0, 0, 0, 0, 1, 1)
    return a.cycle >= 1 and a.seq < 1 << 63 and 1 <= a.first <= a.seq \
        and a.first - 1 <= a.w < a.seq


def keystreams(run_id, atoms):
    """512 bytes for each atom, of which the last 432 are to be seen."""
    counters = b""
    for a in atoms:
        head, place = struct.pack(">QHH", a.seq, a.stream, 0), a.index * 32
        if not a.seq:
            head = struct.pack(">QHH", a.offset // MIB, 0xFFFF, 0)
            place = a.offset % MIB // 16
        counters += b"".join(head + struct.pack(">I", place + k)
                             for k in range(32))
    key = hashlib.sha256(b"plugpull keystream v1" + run_id).digest()[:16]
    return aes_many(key, counters)


class Decoder:
    """Content of 512 bytes -> Atom, each content only once."""

    def __init__(self, run_id):
        self.run_id, self.known = run_id, {}

    def learn(self, contents):
        todo = [c for c in set(contents) if c not in self.known]
        for start in range(0, len(todo), 2048):
            self._learn_some(todo[start:start + 2048])

    def _learn_some(self, some):
        crcs = crc32c_many([c[:8] + bytes(4) + c[12:] for c in some])
        for content, crc in zip(some, crcs):
            self.known[content] = self._parse(content, crc)
        ours = [c for c in some if self.known[c].kind == GOOD]
        streams = keystreams(self.run_id, map(self.known.get, ours))
        for k, content in enumerate(ours):
            if content[80:] != streams[k * ATOM + 80:(k + 1) * ATOM]:
                self.known[content] = Atom(CORRUPT)

    def _parse(self, content, crc):
        if content in (bytes(ATOM), b"\xff" * ATOM):
            return Atom(BLANK)
        magic, version, zero, told, cycle, run, seq, offset, index, length, \
            stream, zero2, first, w, issued = HEADER.unpack_from(content)
        atom = Atom(GOOD if run == self.run_id else FOREIGN, cycle, run, seq,
                    offset, index, length, stream, first, w, issued)
        right = (magic, version, zero, zero2) == (b"PPAT", 1, 0, 0) \
            and told == crc and numbers_right(atom)
        return atom if right else Atom(CORRUPT)

    def __call__(self, content):
        self.learn([content])
        return self.known[content]


# Run, label and schedule
class Run:
    """The 640 bytes that describe a run, and the geometry they fix."""

    def __init__(self, raw):
        self.raw, self.id = raw, raw[:16]
        self.offset, self.size, self.block, self.logical, self.streams, \
            self.pattern, flags, zero, self.seed, self.created \
            = struct.unpack_from("<QQIIHHHHQQ", raw, 16)
        self.filled = bool(flags & 1)
        if raw[:16] == bytes(16) or flags & ~1 or zero or any(raw[576:]) \
                or self.pattern > 1 or not 1 <= self.streams <= 64 \
                or not 512 <= self.logical <= self.block <= 4 * MIB \
                or self.logical & (self.logical - 1) \
                or self.block % self.logical or self.offset % self.logical \
                or (self.size - 2 * MIB) % self.block \
                or self.size < 2 * MIB + self.streams * self.block:
            raise Damaged("description of the run")
        self.slots = (self.size - 2 * MIB) // self.block
        self.own = self.slots // self.streams     # slots of each stream
        self.atoms = self.block // ATOM           # atoms of each slot
        self.labels = (self.offset, self.offset + self.size - MIB)
        self.start = self.offset + MIB            # of slot 0
        self.end = self.start + self.slots * self.block


def read_label(data):
    """The Run that these 4096 bytes describe, or None."""
    right = data[:12] + bytes(4) + data[16:]
    if data[:12] != b"PLUGPULL\x01\0\0\0" or any(data[656:]) \
            or crc32c(right) != number(data[12:16]):
        return None
    try:
        return Run(data[16:656])
    except Damaged:
        return None


GOLDEN = 0x9E3779B97F4A7C15


def mix(v):
    v = ((v & M64) ^ (v & M64) >> 30) * 0xBF58476D1CE4E5B9 & M64
    v = (v ^ v >> 27) * 0x94D049BB133111EB & M64
    return v ^ v >> 31


def scheduled_slot(run, stream, seq):
    """Slot, within its stream, that write SEQ goes to."""
    turn, value = divmod(seq - 1, run.own)
    if run.pattern == 1:
        return value
    key = mix(mix(run.seed + GOLDEN) + (stream + 1) * GOLDEN)
    key = mix(key ^ mix((turn + 1) * GOLDEN))
    h = 1
    while 1 << 2 * h < run.own:
        h += 1
    while True:
        left, right = value >> h, value & (1 << h) - 1
        for r in range(6):
            f = mix(key + (r + 1) * GOLDEN + mix(right + 1))
            left, right = right, left ^ f & (1 << h) - 1
        value = left << h | right
        if value < run.own:
            return value


# Acknowledgement log
class Cycle:
    def __init__(self, number, sync, firsts):
        self.number, self.sync, self.firsts = number, sync, firsts
        self.reserved = {k: f - 1 for k, f in enumerate(firsts)}
        self.issued = {}                 # stream -> told at an orderly end
        self.durable, self.shadow, self.completed = set(), set(), set()
        self.claims = []                 # (stream, first, last, submit, done)
        self.cut_asked = False

    def upper(self, stream):
        return self.issued.get(stream, self.reserved[stream])


class AckLog:
    """What was promised: cycles, each with sets of (stream, number)."""

    def __init__(self, data):
        self.run, self.cycles, self.torn_bytes = None, [], 0
        for payload in self._frames(data):
            for kind, content in statements(payload):
                self._take(kind, content)
        if not self.run:
            raise Damaged("the log has no run")

    def _frames(self, data):
        at, index, previous = 0, 0, 0
        while frame := good_frame(data, at):
            payload, *chain, crc = frame
            if chain != [index, previous]:
                raise Damaged(f"frame {index} of the log does not follow")
            yield payload
            at, index, previous = at + 32 + len(payload), index + 1, crc
        for later in range(at + 1, len(data)):
            if good_frame(data, later):
                raise Damaged(f"the log is damaged at byte {at}")
        self.torn_bytes = len(data) - at

    def _take(self, kind, c):
        if kind == 1:
            if self.run and c.data != self.run.raw:
                raise Damaged("another run")
            self.run = self.run or Run(c.take(640))
        elif not self.run or kind > 8 or not kind \
                or kind not in (2, 6) and not self.cycles:
            raise Damaged(f"a statement of type {kind}")
        elif kind == 2:
            self._take_cycle(c)
        elif kind == 6:
            if c.byte() == 1 and self.cycles:
                self.cycles[-1].cut_asked = True
        elif kind in (3, 7):
            self._take_bound(kind, c.varint(), c.varint())
        elif kind in (4, 5):
            self._take_ranges(kind, c)
        if c.at != len(c.data) and kind not in (1, 6, 8):
            raise Damaged("bytes behind a statement")

    def _take_cycle(self, c):
        n, sync = c.varint(), (c.byte(), c.varint())
        c.varint(), c.varint()           # queue depth, wall clock
        firsts = [c.varint() for _ in range(c.varint())]
        last = self.cycles[-1] if self.cycles else Cycle(0, None, [])
        if (n, sync, firsts) == (last.number, last.sync, last.firsts):
            return                       # said again
        if n != last.number + 1 or len(firsts) != self.run.streams \
                or any(f <= last.reserved.get(k, 0)
                       for k, f in enumerate(firsts)):
            raise Damaged(f"cycle {n} does not follow")
        self.cycles.append(Cycle(n, sync, firsts))

    def _take_bound(self, kind, stream, seq):
        cycle = self.cycles[-1]
        reserved = cycle.reserved.get(stream, -1)
        if stream >= self.run.streams or kind == 7 and (
                seq > reserved or stream in cycle.issued and seq
                and cycle.issued[stream] != seq) \
                or kind == 3 and seq > reserved and stream in cycle.issued:
            raise Damaged(f"bound {seq} of stream {stream}")
        if kind == 3:
            cycle.reserved[stream] = max(seq, reserved)
        else:
            cycle.issued[stream] = max(seq, cycle.firsts[stream] - 1)

    def _take_ranges(self, kind, c):
        cycle, stream, _ = self.cycles[-1], c.varint(), c.varint()
        submit, took, count, last = c.varint(), c.varint(), c.varint(), 0
        for _ in range(count):
            first = c.varint() + last + 1
            last = first + c.varint()
            if stream >= self.run.streams or last > cycle.upper(stream):
                raise Damaged(f"write {last} of stream {stream} promised "
                              f"above its limit")
            told = {(stream, q) for q in range(first, last + 1)}
            if first < cycle.firsts[stream]:
                if not told <= self.all("durable"):
                    raise Damaged(f"write {first} is of an earlier cycle")
            elif kind == 5:
                cycle.completed |= told
            else:
                into = cycle.shadow if cycle.cut_asked else cycle.durable
                into |= told - cycle.durable
                cycle.claims.append((stream, first, last, submit,
                                     submit + took))

    def all(self, name):
        return set().union(*(getattr(c, name) for c in self.cycles))

    def cycle_of(self, stream, seq):
        """The cycle in which this number can have been issued, or None."""
        for cycle in self.cycles:
            if stream in cycle.reserved and \
                    cycle.firsts[stream] <= seq <= cycle.upper(stream):
                return cycle
        return None


def good_frame(data, at):
    """(payload, index, previous, crc) if a frame with a right CRC is there."""
    if data[at:at + 4] != b"PPL1" or len(data) < at + 32:
        return None
    length, index, _, previous, crc = struct.unpack_from("<IQQII", data,
                                                         at + 4)
    payload = data[at + 32:at + 32 + length]
    if not 1 <= length <= 262144 or len(payload) != length \
            or crc32c(data[at:at + 28] + bytes(4) + payload) != crc:
        return None
    return payload, index, previous, crc


class Content:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        if self.at > len(self.data):
            raise Damaged("a statement ends too early")
        return self.data[self.at - count:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while (byte := self.byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        if shift > 63 or shift and not byte:
            raise Damaged("a varint")
        return value | byte << shift


def statements(payload):
    c = Content(payload)
    while c.at < len(payload):
        yield c.byte(), Content(c.take(c.varint()))
