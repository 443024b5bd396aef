"""A disk whose power can be cut: it writes down all that it is given and when it was asked to have it down, so that afterwards there is
a copy of it as it was at any moment, with or without what it had been given since it was last asked.

The disk is a file in a file system of this process (FUSE), with a loop device on it: the kernel's own file systems stand on that, and
a sync of theirs arrives as an fsync of the file."""

import contextlib
import ctypes
import errno
import fcntl
import glob
import os
import signal
import stat
import struct
import subprocess
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81
LOOP_MAJOR = 7
# Numbers that `losetup --find` does not come to, so that what looks for a free device meets none of ours.
FIRST_LOOP, LAST_LOOP = 700, 1000
PR_SET_PDEATHSIG = 1
ENTRY = struct.Struct("<qI")
ASKED = -1
# What a disk writes as a whole or not at all.
PIECE = 4096
MOST = 1 << 20


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def run(*words, accept=(0,), **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode not in accept:
        raise RuntimeError(f"{' '.join(words[:4])}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Loop:
    """A loop device of our own, whose number stays: to a program the disk is the same one after the restart. It is noted, so that
    it goes however this ends."""

    def __init__(self, home):
        with open("/dev/loop-control", "rb") as control:
            for number in range(FIRST_LOOP, LAST_LOOP):
                try:
                    fcntl.ioctl(control, LOOP_CTL_ADD, number)
                except FileExistsError:
                    continue
                self.number, self.path = number, f"/dev/loop{number}"
                break
            else:
                raise RuntimeError("there is no free loop device")
        open(f"{home}/loop-{self.number}", "w", encoding="utf-8").close()
        if not os.path.exists(self.path):
            os.mknod(self.path, 0o600 | stat.S_IFBLK, os.makedev(LOOP_MAJOR, number))

    def mount(self, image, place, options=()):
        """Mounts an image; when it is unmounted, the device lets go of it."""
        os.makedirs(place, exist_ok=True)
        run("mount", "-o", ",".join([f"loop={self.path}", *options]), image, place)


def remove_loops(home):
    with open("/dev/loop-control", "rb") as control:
        for note in glob.glob(f"{home}/loop-*"):
            number = int(note.rpartition("-")[2])
            until_free(lambda: fcntl.ioctl(control, LOOP_CTL_REMOVE, number))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"/dev/loop{number}")


def until_free(act):
    """The kernel lets go of devices a moment after it says so."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return act()
        except (OSError, RuntimeError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def unmount(place):
    until_free(lambda: run("umount", place))


def copy(image, target):
    """Copies a file without its holes."""
    with open(image, "rb") as source, open(target, "wb") as sink:
        size = os.fstat(source.fileno()).st_size
        sink.truncate(size)
        at = 0
        while at < size:
            try:
                at = os.lseek(source.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                break
            end = os.lseek(source.fileno(), at, os.SEEK_HOLE)
            while at < end:
                at += os.copy_file_range(source.fileno(), sink.fileno(), end - at, at, at)


class Disk:
    """A file system on a disk that writes down what it is given, and takes `answer` seconds to say that it is down."""

    def __init__(self, home, loop, image, options=(), answer=0.0):
        self.image, self.log = f"{home}/disk.img", f"{home}/disk.log"
        self.folder, self.place = f"{home}/disk", f"{home}/mounted"
        os.makedirs(self.folder, exist_ok=True)
        copy(image, self.image)
        open(self.log, "wb").close()
        channel = os.open("/dev/fuse", os.O_RDWR)
        words = f"fd={channel},rootmode=40000,user_id=0,group_id=0,max_read={MOST}".encode()
        if LIBC.mount(b"power", self.folder.encode(), b"fuse", 0, words):
            raise OSError(ctypes.get_errno(), "cannot mount a FUSE file system")
        self.server = os.fork()
        if self.server == 0:
            try:
                die_with_parent()
                serve(channel, self.image, self.log, answer)
            finally:
                os._exit(0)
        os.close(channel)
        try:
            loop.mount(f"{self.folder}/disk", self.place, options)
        except RuntimeError:
            self.close_disk()
            raise

    def now(self):
        """Returns the moment: how much was written down."""
        return os.stat(self.log).st_size

    def close(self):
        unmount(self.place)
        self.close_disk()

    def close_disk(self):
        unmount(self.folder)
        os.waitpid(self.server, 0)


def serve(channel, image, log, answer_after):
    """Answers the kernel as a file system with one file in it, and writes down each write and each sync."""
    data = os.open(image, os.O_RDWR)
    notes = os.open(log, os.O_WRONLY | os.O_APPEND)
    size = os.fstat(data).st_size

    def attributes(node):
        mode, length = (stat.S_IFDIR | 0o700, 0) if node == 1 else (stat.S_IFREG | 0o600, size)
        times = (0, 0, 0)
        return struct.pack("<6Q10I", node, length, -(-length // 512), *times, *times, mode, 1, 0, 0, 0, PIECE, 0)

    while True:
        try:
            request = os.read(channel, MOST + 4096)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                continue
            return
        _, action, unique, node = struct.unpack_from("<IIQQ", request)
        body = request[40:]
        fault, answer = 0, b""
        if action == 26:  # INIT: 7.31, big writes, as many pages as fit
            answer = struct.pack("<IIIIHHIIHHI", 7, 31, MOST, 1 << 5 | 1 << 22, 16, 12, MOST, 1, MOST // 4096, 0, 0) + bytes(28)
        elif action == 1:  # LOOKUP
            answer = struct.pack("<QQQQII", 2, 0, 3600, 3600, 0, 0) + attributes(2)
        elif action == 3:  # GETATTR
            answer = struct.pack("<QII", 3600, 0, 0) + attributes(node)
        elif action in (14, 27):  # OPEN, OPENDIR: what is cached stays
            answer = struct.pack("<QII", 1, 2, 0)
        elif action == 15:  # READ
            _, at, length = struct.unpack_from("<QQI", body)
            answer = os.pread(data, length, at)
        elif action == 16:  # WRITE
            _, at, length = struct.unpack_from("<QQI", body)
            piece = body[40:40 + length]
            os.pwrite(data, piece, at)
            os.write(notes, ENTRY.pack(at, length) + piece)
            answer = struct.pack("<II", length, 0)
        elif action == 20:  # FSYNC
            if answer_after:
                time.sleep(answer_after)
            os.write(notes, ENTRY.pack(ASKED, 0))
        elif action in (2, 36, 42):  # FORGET, INTERRUPT, BATCH_FORGET want no answer
            continue
        elif action == 17:  # STATFS
            answer = struct.pack("<5Q4I", 0, 0, 0, 0, 0, PIECE, 255, PIECE, 0) + bytes(24)
        elif action not in (18, 25, 29):  # FLUSH is a close, the others are RELEASE and RELEASEDIR
            fault = errno.EOPNOTSUPP if action == 43 else errno.ENOSYS  # FALLOCATE: this disk discards nothing
        try:
            os.write(channel, struct.pack("<IiQ", 16 + len(answer), -fault, unique) + answer)
        except OSError as error:
            if error.errno != errno.ENOENT:  # whoever asked was interrupted
                return


class Notes:
    """What a disk wrote down."""

    def __init__(self, path):
        with open(path, "rb") as file:
            raw = memoryview(file.read())
        # Each with the moment at which it was there.
        self.entries, at = [], 0
        while at < len(raw):
            place, length = ENTRY.unpack_from(raw, at)
            at += ENTRY.size + length
            self.entries.append((at, place, raw[at - length:at]))

    def at(self, moment, keep):
        """Returns what is on the disk if the power is cut at that moment, as pieces by their place: all that it was asked to have down
        by then, and of each piece that it was given since `keep` says whether it got there."""
        entries = [entry for entry in self.entries if entry[0] <= moment]
        asked = max((number for number, entry in enumerate(entries) if entry[1] == ASKED), default=-1)
        found = {}
        for number, (_, place, piece) in enumerate(entries):
            if place == ASKED:
                continue
            start = 0
            while start < len(piece):
                end = min(len(piece), start + PIECE - (place + start) % PIECE)
                if number < asked or keep():
                    # Such pieces may overlap others, so they stay in the order in which they came.
                    key = (place + start, end - start)
                    found.pop(key, None)
                    found[key] = piece[start:end]
                start = end
        return found

    def moments(self, since, until):
        """Returns each moment at which something else was there."""
        return [moment for moment, _, _ in self.entries if since < moment <= until]


def write(image, found):
    with open(image, "r+b", buffering=0) as file:
        for (place, _), piece in found.items():
            file.seek(place)
            file.write(piece)


if __name__ == "__main__":
    remove_loops(sys.argv[1])
