# SPDX-License-Identifier: MIT
"""What is written to: made for the measurement, and taken away again.

  tmpfs  a file in memory with direct I/O: no device time, our own cost
  ext4   a file on ext4, on a loop device over memory (root), or in --dir
  sim    a loop device over the simulated drive, through FUSE (root)
  nbd    the simulated drive, as an NBD server
"""
import contextlib
import mmap
import os
import subprocess
import time

SHM = "/dev/shm"
LABEL_BYTES = 1 << 20
WAIT_SECONDS = 20
SIM_SECTOR = 4096
# Its cache has room for everything, so that nobody waits for the media, and
# drains soon, so that it is empty when the next one begins.
SIM_DRAIN_MS = 100


class NotHere(Exception):
    """This machine cannot do it, and why."""


class Target:
    def __init__(self, path, size, sector, settle=None):
        self.path, self.size, self.sector = path, size, sector
        self.is_nbd = path.startswith("nbd")
        self.settle = settle or (lambda: None)

    @property
    def first(self):
        return LABEL_BYTES

    @property
    def room(self):
        return self.size - 2 * LABEL_BYTES


def call(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise NotHere("%s: %s" % (
            " ".join(command[:3]), (done.stderr.strip() or "failed")))
    return done.stdout.strip()


def wait_until(what, is_true):
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_true():
        if time.monotonic() > deadline:
            raise NotHere("%s: not after %d s" % (what, WAIT_SECONDS))
        time.sleep(0.02)


def takes_direct(path, length):
    """Whether a file system writes LENGTH bytes past its cache."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    try:
        fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    except OSError:
        return False
    try:
        return os.pwritev(fd, [memoryview(page)[:length]], 0) == length
    except OSError:
        return False
    finally:
        os.close(fd)


def file_target(path, size):
    """Allocated to its end, and written once: extents that were never written
    cost a file system more."""
    with open(path, "xb") as file:
        chunk = os.urandom(1 << 20)
        for _ in range(0, size, len(chunk)):
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    for sector in (512, 4096):
        if takes_direct(path, sector):
            return Target(path, size, sector)
    raise NotHere("%s: no direct I/O to be had there" % path)


@contextlib.contextmanager
def tmpfs_target(rig):
    path = os.path.join(rig.memory, "tmpfs.target")
    try:
        yield file_target(path, rig.size)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def needs_root():
    if os.geteuid():
        raise NotHere("needs root")


@contextlib.contextmanager
def loop_device(path, *options):
    """What was once said to a loop device about its cache stays with its
    number: a device that says "write through" gets no flush."""
    device = call("losetup", "--find", "--show", "--direct-io=on",
                  *options, path)
    cache = "/sys/block/%s/queue/write_cache" % os.path.basename(device)
    try:
        with open(cache, "w", encoding="ascii") as file:
            file.write("write back")
        yield device
    finally:
        call("losetup", "-d", device)
        wait_until("%s lets go of its file" % device, lambda: path not in
                   call("losetup", "--noheadings", "-O", "BACK-FILE"))


@contextlib.contextmanager
def ext4_target(rig):
    if rig.folder:
        path = os.path.join(rig.folder, "plugpull-bench.target")
        try:
            yield file_target(path, rig.size)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        return
    needs_root()
    image = os.path.join(rig.memory, "ext4.image")
    point = os.path.join(rig.memory, "ext4")
    with contextlib.ExitStack() as stack:
        with open(image, "xb") as file:
            file.truncate(rig.size + rig.size // 4)
        stack.callback(os.unlink, image)
        device = stack.enter_context(loop_device(image))
        call("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", device)
        os.makedirs(point, exist_ok=True)
        call("mount", device, point)
        stack.callback(call, "umount", point)
        yield file_target(os.path.join(point, "target"), rig.size)


@contextlib.contextmanager
def simulated_drive(rig, name):
    socket = os.path.join(rig.memory, name + ".sock")
    media = os.path.join(rig.memory, name + ".media")
    said = os.path.join(rig.memory, name + ".out")
    control = os.path.join(rig.memory, name + ".control")

    def settle():
        """What one left in the cache would be the next one's to flush."""
        wait_until("an empty cache", lambda: " dirty_bytes=0 " in call(
            rig.program("simdrive"), "status", "--control", control))
    with open(said, "wb") as out:
        process = subprocess.Popen(
            [rig.program("simdrive"), "serve", "--socket", socket, "--media",
             media, "--control", control, "--size", str(rig.size),
             "--cache", str(rig.size), "--drain-ms", str(SIM_DRAIN_MS)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    try:
        def serves():
            with open(said, encoding="utf-8") as file:
                text = file.read()
            if process.poll() is not None:
                raise NotHere("the simulated drive: %s" % text.strip())
            return "serving " in text
        wait_until("the simulated drive", serves)
        yield "nbd+unix:///?socket=" + socket, settle
    finally:
        process.terminate()
        process.wait()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(media)


@contextlib.contextmanager
def nbd_target(rig):
    with simulated_drive(rig, "nbd") as (uri, settle):
        yield Target(uri, rig.size, SIM_SECTOR, settle)


@contextlib.contextmanager
def fuse_mount(rig, uri):
    point = os.path.join(rig.memory, "fuse")
    os.makedirs(point, exist_ok=True)
    process = subprocess.Popen(["nbdfuse", point, uri],
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    path = os.path.join(point, "nbd")
    try:
        wait_until("nbdfuse", lambda: os.path.exists(path)
                   and os.path.getsize(path) > 0)
        yield path
    finally:
        # The loop device above may hold its file a moment longer.
        wait_until("fusermount3", lambda: process.poll() is not None
                   or not subprocess.call(["fusermount3", "-u", point],
                                          stderr=subprocess.DEVNULL))
        process.wait()


@contextlib.contextmanager
def sim_target(rig):
    needs_root()
    if not os.path.exists("/dev/fuse"):
        raise NotHere("needs FUSE")
    with simulated_drive(rig, "sim") as (uri, settle), \
            fuse_mount(rig, uri) as path, \
            loop_device(path, "--sector-size", str(SIM_SECTOR)) as device:
        yield Target(device, rig.size, SIM_SECTOR, settle)


MAKERS = {"tmpfs": tmpfs_target, "ext4": ext4_target, "sim": sim_target,
          "nbd": nbd_target}
