# SPDX-License-Identifier: MIT
"""What lies on the drive and in the log, decoded anew from docs/FORMATS.md.

Shares no code with plugpull and trusts nothing that it reads. AES is that of
python3-cryptography, CRC-32C that of libext2fs where there is one; the rest
is the standard library's.
"""
import ctypes
import functools
import hashlib
import struct
from collections import namedtuple

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

ATOM, MIB, M64 = 512, 1 << 20, (1 << 64) - 1
GOOD, FOREIGN, BLANK, CORRUPT = "good", "foreign", "blank", "corrupt"


class Damaged(Exception):
    """The log contradicts its format."""


# CRC-32C, the reflected polynomial of RFC 3720
CRC = list(range(256))
for _ in range(8):
    CRC = [n >> 1 ^ (0x82F63B78 if n & 1 else 0) for n in CRC]


def crc32c_by_table(crc, data, length):
    for byte in data[:length]:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    return crc


try:
    crc32c_step = ctypes.CDLL("libext2fs.so.2").ext2fs_crc32c_le
    crc32c_step.argtypes = ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t
    crc32c_step.restype = ctypes.c_uint32
except (OSError, AttributeError):
    crc32c_step = crc32c_by_table


def crc32c(data):
    return crc32c_step(0xFFFFFFFF, data, len(data)) ^ 0xFFFFFFFF


def number(data):
    return int.from_bytes(data, "little")


# Atoms
Atom = namedtuple("Atom", "kind cycle run seq offset index length stream "
                  "first w issued", defaults=[None] * 10)
HEADER = struct.Struct("<4sHHII16sQQHHHHQQQ")
CRC_FIELD = struct.Struct("<I")
BLANKS = bytes(ATOM), b"\xff" * ATOM
PLACES = [struct.pack(">I", k) for k in range(MIB // 16)]


def numbers_right(a):
    if a.offset % ATOM or a.offset < a.index * ATOM or a.stream > 63 \
            or not a.index < a.length or not 1 <= a.length <= 8192:
        return False
    if a.seq == 0:
        return (a.cycle, a.stream, a.index, a.w, a.issued, a.length,
                a.first) == (0, 0, 0, 0, 0, 1, 1)
    return a.cycle >= 1 and a.seq < 1 << 63 and 1 <= a.first <= a.seq \
        and a.first - 1 <= a.w < a.seq


def header_at(data, at):
    """(the Atom that the header speaks of, its CRC), or None if it is none."""
    magic, version, zero, crc, cycle, run, seq, offset, index, length, \
        stream, zero2, first, w, issued = HEADER.unpack_from(data, at)
    atom = Atom(GOOD, cycle, run, seq, offset, index, length, stream, first,
                w, issued)
    right = (magic, version, zero, zero2) == (b"PPAT", 1, 0, 0) \
        and numbers_right(atom)
    return (atom, crc) if right else None


def shifted(atom, k):
    """The atom K places behind this one in the same write or fill."""
    return atom if not k else Atom(*atom[:4], atom.offset + k * ATOM,
                                   atom.index + (k if atom.seq else 0),
                                   *atom[6:])


class Decoder:
    """Bytes -> pieces: each one Atom and the number of atoms, itself and
    those behind it, that are good and go on with the same write or fill.

    A piece is built anew, whole, from the numbers in its first header, and
    compared with what is there; the same bytes are looked at only once.
    """

    def __init__(self, run_id):
        self.run_id, self.known = run_id, {}
        key = hashlib.sha256(b"plugpull keystream v1" + run_id).digest()[:16]
        self.aes = Cipher(algorithms.AES(key), modes.ECB()).encryptor()

    def pieces(self, data):
        if data not in self.known:
            found = self.known[data] = []
            at = 0
            while at < len(data):
                found.append(self._piece(data, at))
                at += found[-1][1] * ATOM
        return self.known[data]

    def atoms(self, data):
        return [shifted(atom, k) for atom, count in self.pieces(data)
                for k in range(count)]

    def _piece(self, data, at):
        content = data[at:at + ATOM]
        if content in BLANKS:
            return Atom(BLANK), 1
        atom, crc = header_at(data, at) or (None, None)
        if not atom:
            return Atom(CORRUPT), 1
        if atom.run == self.run_id:
            return self._good_piece(atom, data, at)
        right = crc == crc32c(content[:8] + bytes(4) + content[12:])
        return (atom._replace(kind=FOREIGN) if right else Atom(CORRUPT)), 1

    def _good_piece(self, atom, data, at):
        most = atom.length - atom.index if atom.seq \
            else (MIB - atom.offset % MIB) // ATOM
        most = min(most, (len(data) - at) // ATOM)
        built, found = self.build(atom, most), data[at:at + most * ATOM]
        count = most if built == found else next(
            k for k in range(most) if built[k * ATOM:(k + 1) * ATOM]
            != found[k * ATOM:(k + 1) * ATOM])
        return (atom, count) if count else (Atom(CORRUPT), 1)

    def build(self, atom, count):
        """The bytes of COUNT atoms, this one first."""
        head = struct.pack(">QHH", atom.seq, atom.stream, 0)
        place = atom.index * 32
        if not atom.seq:
            head = struct.pack(">QHH", atom.offset // MIB, 0xFFFF, 0)
            place = atom.offset % MIB // 16
        while len(PLACES) < place + 32 * count:
            PLACES.append(struct.pack(">I", len(PLACES)))
        out = bytearray(self.aes.update(
            head + head.join(PLACES[place:place + 32 * count])))
        for k in range(count):
            at, index = k * ATOM, atom.index + (k if atom.seq else 0)
            HEADER.pack_into(out, at, b"PPAT", 1, 0, 0, atom.cycle, atom.run,
                             atom.seq, atom.offset + at, index, atom.length,
                             atom.stream, 0, atom.first, atom.w, atom.issued)
            CRC_FIELD.pack_into(out, at + 8, crc32c(bytes(out[at:at + ATOM])))
        return out


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

    def inverted(self, filled=False):
        """The claim of this run; or, if this is a claim, the run itself."""
        return Run(bytes(255 - b for b in self.id) + self.raw[16:44]
                   + struct.pack("<H", filled) + self.raw[46:])


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


@functools.lru_cache(maxsize=1024)
def order_of_pass(seed, n, stream, turn):
    """position -> slot: the permutation of one pass over n slots."""
    key = mix(mix(seed + GOLDEN) + (stream + 1) * GOLDEN)
    key = mix(key ^ mix((turn + 1) * GOLDEN))
    h = 1
    while 1 << 2 * h < n:
        h += 1
    low = (1 << h) - 1
    f = [[mix(key + (r + 1) * GOLDEN + mix(x + 1)) & low
          for x in range(low + 1)] for r in range(6)]

    def once(value):
        left, right = value >> h, value & low
        for round_ in f:
            left, right = right, left ^ round_[right]
        return left << h | right

    order = []
    for value in range(n):
        value = once(value)
        while value >= n:
            value = once(value)
        order.append(value)
    return order


def slot_of(run, stream, seq):
    """Slot of the region that write SEQ of this stream goes to."""
    turn, place = divmod(seq - 1, run.own)
    if run.pattern == 0:
        place = order_of_pass(run.seed, run.own, stream, turn)[place]
    return stream * run.own + place


# Acknowledgement log
class Cycle:
    def __init__(self, number, sync, firsts):
        self.number, self.sync, self.firsts = number, sync, firsts
        self.reserved = {k: f - 1 for k, f in enumerate(firsts)}
        self.issued = {}                 # stream -> told at an orderly end
        self.durable, self.shadow, self.completed = set(), set(), set()
        self.claims = []                 # (stream, first, last, submit, done)
        self.cut_asked = self.cut_seen = self.restored = False

    def take_event(self, event):
        if event == 1:
            self.cut_asked = True
        elif event == 2:
            self.cut_seen |= self.cut_asked and not self.restored
        elif event == 3:
            self.restored = True

    def take_back_cut_seen(self):
        """The writer has told something: it had not ended."""
        self.cut_seen = False

    def media_may_be_late(self):
        """P11: may the writer have gone on behind the cut?"""
        return self.cut_asked and not self.cut_seen

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
        later = data.find(b"PPL1", at + 1)
        while later >= 0:
            if good_frame(data, later):
                raise Damaged(f"the log is damaged at byte {at}")
            later = data.find(b"PPL1", later + 1)
        self.torn_bytes = len(data) - at

    def _take(self, kind, c):
        if kind == 1:
            if self.run and c.data != self.run.raw:
                raise Damaged("another run")
            self.run = self.run or Run(c.take(640))
        elif not self.run or kind > 9 or not kind \
                or kind not in (2, 6) and not self.cycles:
            raise Damaged(f"a statement of type {kind}")
        elif kind == 2:
            self._take_cycle(c)
        elif kind == 6:
            event = c.byte()
            if self.cycles:
                self.cycles[-1].take_event(event)
        else:
            self._take_progress(kind, c)
        if c.at != len(c.data) and kind not in (1, 6, 8):
            raise Damaged("bytes behind a statement")

    def _take_progress(self, kind, c):
        self.cycles[-1].take_back_cut_seen()
        if kind in (3, 7):
            self._take_bound(kind, c.varint(), c.varint())
        elif kind in (4, 5):
            self._take_ranges(kind, c)
        elif kind == 9:
            stream = c.varint()
            for _, *claim in flushes(c):
                self._take_range(kind, stream, *claim)

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
        stream, _, submit, took = (c.varint() for _ in range(4))
        last = 0
        for _ in range(c.varint()):
            first = c.varint() + last + 1
            last = first + c.varint()
            self._take_range(kind, stream, submit, took, first, last)

    def _take_range(self, kind, stream, submit, took, first, last):
        cycle = self.cycles[-1]
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


def flushes(c):
    """(number, submitted, took, first, last) of each range of a "flushes"
    statement behind its stream."""
    number = submit = took = last = again = 0
    count = c.varint()
    for _ in range(count):
        if not again:
            number += 1 + c.varint()
            submit += c.varint()
            took = c.varint()
        gap, length = c.varint(), c.varint()
        first = last + 1 + (-(gap + 1) // 2 if gap & 1 else gap // 2)
        last, again = first + length // 2, length & 1
        if not 0 < first <= last < 1 << 63 or submit + took >= 1 << 64 \
                or number >= 1 << 64:
            raise Damaged("a number out of range")
        yield number, submit, took, first, last
    if again or not 2 <= count <= 64:
        raise Damaged("flushes that are not whole")
