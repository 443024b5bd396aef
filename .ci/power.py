"""Cuts the power while a real aof works on real file systems, at any moment, and looks at what the next command makes of what is left."""

import argparse
import collections
import concurrent.futures
import contextlib
import copy
import ctypes
import fcntl
import glob
import hashlib
import json
import multiprocessing
import os
import platform
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import power_disk
from power_disk import Disk, Loop, Notes, run, unmount

EXT4 = ("-q", "-b", "4096", "-N", "8192", "-E", "lazy_itable_init=0,lazy_journal_init=0")
BARE = "ext4 without a journal"
System = collections.namedtuple("System", "make options megabytes")
# About the least size that each takes; hardly any of it is used.
SYSTEMS = {
    "ext4": System(("mkfs.ext4", *EXT4, "-J", "size=4"), ("data=ordered",), 96),
    "xfs": System(("mkfs.xfs", "-q"), ("nouuid",), 320),
    "btrfs": System(("mkfs.btrfs", "-q"), (), 128),
    BARE: System(("mkfs.ext4", *EXT4, "-O", "^has_journal"), (), 96),
}
LAYOUTS = ("flat", "sharded")

RULES = """\
project: {{name: garden}}
tasks: {{layout: {layout}}}
workflow:
  gates:
    - {{id: implement, role: backend}}
    - {{id: review, role: architect, canReject: true}}
"""
ORG = """\
roles:
  backend: {agents: [agent-1]}
  architect: {agents: [agent-3]}
"""
BODY, EDIT = "The body.", "The better body."
LEFT = "A  staged.txt\n?? untracked.txt\n"
# In order: what is completed in place, what is finished, both after a person's edit, two for the inbox and two finished ones there,
# what is completed after the restart, and what is completed one after the other.
PLAIN, DONE, EDITED, DONE_EDITED, INBOX, INBOX_DONE, NEXT, LAST = 0, 1, 2, 3, (4, 5), (6, 7), 8, 9
STREAM, STREAM_DONE = range(10, 15), range(15, 20)
AT_REVIEW = (DONE, DONE_EDITED, *INBOX_DONE, *STREAM_DONE)

POINTS = re.findall(r'^    "([\w.-]+)",$', open("crates/system/src/crash_points.rs", encoding="utf-8").read().split("POINTS: &[&str] = &[")[1].split("];")[0], re.M)


class Fault(Exception):
    """What does not hold."""


class Project:
    """A project, and the commands that are run in it."""

    def __init__(self, aof, home, folder):
        self.aof, self.folder = aof, folder
        self.environment = {"PATH": os.environ["PATH"], "HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}

    def call(self, *words, **options):
        environment = {**self.environment, **options.pop("env", {})}
        return subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, errors="replace", timeout=60, **options)

    def run(self, *words, **options):
        done = self.call(*words, **options)
        if done.returncode:
            shown = " ".join(os.path.basename(word) for word in words[:4])
            raise Fault(f"`{shown}` says {done.returncode}: {(done.stdout + done.stderr).strip()[-600:]}")
        return done.stdout

    def git(self, *words):
        return self.run("git", *words)

    def aof_words(self, *words):
        return (self.aof, *words, "--wait", "2s")

    def complete(self, task, agent, delivery):
        who = ("--agent", agent, "--outcome", "complete", "--summary", "Did it", "--id", delivery)
        return self.aof_words("task", "complete", task, *who)

    def path(self, task):
        found = glob.glob(f"{self.folder}/tasks/**/{task}.md", recursive=True)
        if not found:
            raise Fault(f"the file of {task} is gone")
        return found[0]

    def read(self, path):
        with open(os.path.join(self.folder, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def put(self, path, text):
        """Writes a file that is on the disk when this returns."""
        with open(os.path.join(self.folder, path), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def make(self, layout):
        """Makes the project and its tasks; returns their ids."""
        os.mkdir(self.folder)
        self.put("project.yaml", RULES.format(layout=layout))
        self.put("org.yaml", ORG)
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "rules")
        wanted = json.dumps([{"title": f"Task {number}", "body": BODY} for number in range(STREAM_DONE.stop)])
        made = json.loads(self.run(*self.aof_words("task", "new", "--from", "-", "--json"), input=wanted))
        tasks = [task["id"] for task in made["tasks"]]
        for number in AT_REVIEW:
            self.run(*self.complete(tasks[number], "agent-1", f"before-{number}"))
            self.put(f"{self.path(tasks[number]).removesuffix('.md')}.tests.yaml", f"tests: [{number}]\n")
        self.git("add", "tasks")
        self.git("commit", "--quiet", "--message", "tests")
        self.put("staged.txt", "staged\n")
        self.git("add", "staged.txt")
        self.put("untracked.txt", "untracked\n")
        return tasks


class Act:
    """What is done when the power is cut: deliveries, by the tasks that they are for; and whose files a person edited before."""

    def __init__(self, tasks, numbers, edited=()):
        self.tasks, self.numbers = tasks, numbers
        self.edited = [tasks[number] for number in edited]

    def agent(self, number):
        return "agent-3" if number in AT_REVIEW else "agent-1"

    def delivery(self, number):
        return f"delivery-{number}"

    def prepare(self, project):
        for task in self.edited:
            path = project.path(task)
            project.put(path, project.read(path).replace(BODY, EDIT))

    def steps(self, project):
        """Yields the command of each step, and what is acknowledged when it has returned."""
        for number in self.numbers:
            yield project.complete(self.tasks[number], self.agent(number), self.delivery(number)), [number]

    def again(self, project, numbers):
        """Delivers again what may have been lost."""
        for number in numbers:
            project.run(*project.complete(self.tasks[number], self.agent(number), self.delivery(number)))

    def logged(self, project):
        """Returns the deliveries that commits name."""
        return project.git("log", "--format=%(trailers:key=Aof-Completion,valueonly,separator=%x2C)").splitlines()

    def committed(self, project):
        """Returns what is in git once, in a commit and in the history of the task there, without a look at any file in the worktree."""
        log, grep = self.logged(project), project.call("git", "grep", "-F", "-e", "id: delivery-", "HEAD", "--", "tasks")
        if grep.returncode > 1:
            raise Fault(f"`git grep` says {grep.stderr}")
        entries = [line.rpartition("/")[2].split() for line in grep.stdout.splitlines()]
        there = lambda number: entries.count([f"{self.tasks[number]}.md:", "id:", self.delivery(number)]) == 1
        return {number for number in self.numbers if there(number) and log.count(self.delivery(number)) == 1}

    def counts(self, project):
        """Returns how often each delivery counts: in the file of its task, and in the log."""
        log = self.logged(project)
        entries = lambda number: project.read(project.path(self.tasks[number])).count(f"id: {self.delivery(number)}\n")
        return {number: (entries(number), log.count(self.delivery(number))) for number in self.numbers}


class Inbox(Act):
    """Completion files that `aof watch --once` takes, as one batch."""

    def prepare(self, project):
        super().prepare(project)
        for number in self.numbers:
            said = {"task": self.tasks[number], "agent": self.agent(number), "outcome": "complete", "summary": "Did it", "id": self.delivery(number)}
            project.put(f".aof/inbox/{number}.json", json.dumps(said))

    def steps(self, project):
        yield project.aof_words("watch", "--once"), list(self.numbers)

    def again(self, project, numbers):
        project.run(*project.aof_words("watch", "--once"))
        left = [name for name in os.listdir(f"{project.folder}/.aof/inbox") if name != ".taken"]
        left += os.listdir(f"{project.folder}/.aof/inbox/.taken") + os.listdir(f"{project.folder}/.aof/refused")
        if left:
            why = [project.read(f".aof/refused/{name}") for name in left if name.endswith(".reason.json")]
            raise Fault("\n".join([f"the inbox or what was refused has {left}", *why]))


class New(Act):
    """A new task."""

    def steps(self, project):
        yield project.aof_words("task", "new", "Sow the peas"), [None]

    def again(self, project, numbers):
        pass

    def committed(self, project):
        log = project.git("log", "--format=%H", "--grep", "Sow the peas").split()
        grep = project.call("git", "grep", "-F", "-l", "-e", "title: Sow the peas", "HEAD", "--", "tasks").stdout.split()
        return {None} if (len(log), len(grep)) == (1, 1) else set()

    def counts(self, project):
        files = [path for path in glob.glob(f"{project.folder}/tasks/**/*.md", recursive=True) if "title: Sow the peas\n" in project.read(path)]
        return {None: (len(files), len(self.committed(project)))}


def acts(tasks):
    return {
        "a completion in place": Act(tasks, [PLAIN]),
        "a completion that finishes the task": Act(tasks, [DONE]),
        "a completion after an edit": Act(tasks, [EDITED], [EDITED]),
        "a finishing completion after an edit": Act(tasks, [DONE_EDITED], [DONE_EDITED]),
        "a new task": New(tasks, [None]),
        "completion files": Inbox(tasks, [*INBOX, *INBOX_DONE], [INBOX[1], INBOX_DONE[1]]),
        "many completions": Act(tasks, [number for pair in zip(STREAM, STREAM_DONE) for number in pair], [STREAM[2], STREAM_DONE[2]]),
    }


def forget_syncs():
    """Has the kernel answer syncs of this process without doing anything, as a disk does that lies."""
    # fsync, fdatasync, sync, syncfs
    numbers = {"x86_64": (74, 75, 162, 306), "aarch64": (82, 83, 81, 267)}[platform.machine()]
    # The number of the call; each of these, to the last row but one, which answers 0 to it; all else goes on.
    rows = [(0x20, 0, 0, 0), *((0x15, len(numbers) - place, 0, number) for place, number in enumerate(numbers))]
    rows += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(rows), ctypes.addressof(code)))
    if power_disk.LIBC.prctl(38, 1, 0, 0, 0) or power_disk.LIBC.prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot filter system calls")


class Bench:
    """What one worker has: a folder, and two devices, one of them for what is called otherwise after the restart."""

    def __init__(self, aof, home):
        os.makedirs(home, exist_ok=True)
        self.aof, self.home = aof, home
        with open(f"{home}/.gitconfig", "w", encoding="utf-8") as file:
            file.write("[user]\n\tname = Ada\n\temail = ada@garden.example\n[init]\n\tdefaultBranch = main\n")
        self.loop, self.other = Loop(os.path.dirname(home)), Loop(os.path.dirname(home))

    @contextlib.contextmanager
    def turn(self, system):
        """A kernel may not tell two copies of a btrfs apart, so that one is mounted at a time."""
        if system != "btrfs":
            yield
            return
        with open(f"{os.path.dirname(self.home)}/btrfs", "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def project(self, place):
        return Project(self.aof, self.home, f"{place}/garden")

    def make_base(self, system, layout, image):
        """Makes an image with a project in it; returns the ids of its tasks."""
        make, options, megabytes = SYSTEMS[system]
        raw, place = f"{image}.raw", f"{self.home}/base"
        with open(raw, "wb") as file:
            file.truncate(megabytes << 20)
        run(*make, raw)
        self.loop.mount(raw, place, options)
        try:
            tasks = self.project(place).make(layout)
        finally:
            unmount(place)
        run("cp", "--sparse=always", raw, image)
        os.unlink(raw)
        return tasks

    def record(self, job):
        """Does what is asked for on a disk that writes it down. Returns the notes and the moments of interest, with what was
        acknowledged by then."""
        disk = Disk(self.home, self.loop, job.image, SYSTEMS[job.system].options)
        try:
            project = self.project(disk.place)
            job.act.prepare(project)
            with open(f"{disk.place}/written-and-synced", "w", encoding="utf-8") as file:
                file.write("control")
                file.flush()
                os.fsync(file.fileno())
            run("sync", "--file-system", disk.place)
            moments, said = [(disk.now(), [], "before")], []
            for words, acknowledged in job.act.steps(project):
                # What runs here is of a start of the machine that is over when the next command comes.
                told = {"AOF_BOOT": "the one before", **({"AOF_STOP_AT": job.stop} if job.stop else {})}
                done = project.call(*words, env=told, preexec_fn=forget_syncs if job.lying else None)
                if job.stop:
                    acknowledged = acknowledged if done.returncode == 0 else []
                elif done.returncode:
                    raise Fault(f"`{job.name}` says {done.returncode}: {done.stdout}{done.stderr}")
                said = said + acknowledged
                moments.append((disk.now(), said, "stopped" if done.returncode else "returned"))
            with open(f"{disk.place}/written-and-not-synced", "w", encoding="utf-8") as file:
                file.write("control")
            moments.append((disk.now(), said, "then"))
            # Somebody else asks for his own file, and a journal takes with it whatever else is there by then.
            with open(f"{disk.place}/of-somebody-else", "w", encoding="utf-8") as file:
                file.write("theirs")
                file.flush()
                os.fsync(file.fileno())
            moments.append((disk.now(), said, "then somebody else synced a file"))
        finally:
            disk.close()
        return Notes(disk.log), moments

    def cut_again(self, job, cut, found, chance):
        """Has the next command heal what is left, and cuts the power again while it does. Returns what is on the disk then."""
        image = f"{self.home}/first.img"
        power_disk.copy(job.image, image)
        power_disk.write(image, found)
        self.mend(job, image)
        disk = Disk(self.home, self.loop, image, SYSTEMS[job.system].options)
        try:
            act, project, since = job.act, self.project(disk.place), disk.now()
            words = project.complete(act.tasks[NEXT], "agent-1", "delivery-next")
            project.call(*words, env={"AOF_BOOT": "the next one"})
            moment = chance.choice(Notes(disk.log).moments(since, disk.now()) or [since])
        finally:
            disk.close()
        again = copy.copy(cut)
        again.rest, again.when = chance.choice(("lost", "there", "torn")), f"{cut.when}, and then once more while that was healed"
        return again, image, Notes(disk.log).at(moment, again.keep())

    def mend(self, job, image):
        """Does what a system does when it starts; a journal is no more than played by mounting it."""
        if job.system == BARE:
            run("e2fsck", "-fy", image, accept=(0, 1, 2))

    def judge(self, job, cut, base, found):
        """Returns what does not hold on the disk as it is after the power was cut, and what became of the controls."""
        image, place = f"{self.home}/cut.img", f"{self.home}/after"
        power_disk.copy(base, image)
        power_disk.write(image, found)
        faults, seen = [], {}
        self.mend(job, image)
        loop = self.other if cut.renamed else self.loop
        try:
            loop.mount(image, place, SYSTEMS[job.system].options)
        except RuntimeError as error:
            return [f"the file system itself is broken: {error}"], seen
        try:
            for name in ("written-and-synced", "written-and-not-synced"):
                seen[name] = os.path.exists(f"{place}/{name}") and os.path.getsize(f"{place}/{name}") > 0
            faults = self.faults(job, cut, self.project(place), seen)
        finally:
            unmount(place)
        return faults, seen

    def faults(self, job, cut, project, seen):
        """Returns what does not hold, once with git alone and then with aof."""
        faults, act = [], job.act

        def expect(what, holds):
            if not holds:
                faults.append(what)

        @contextlib.contextmanager
        def told(when):
            try:
                yield
            except (Fault, OSError, UnicodeError, subprocess.TimeoutExpired) as fault:
                faults.append(f"{when}: {fault}")

        with told("before any command, git alone"):
            there = act.committed(project) if cut.acknowledged else ()
            for number in cut.acknowledged:
                expect(f"lost: delivery {number} was acknowledged, and is not in HEAD", number in there)
        with told("the first command"):
            project.run(*project.aof_words("status"))
        with told("the next change"):
            project.run(*project.complete(act.tasks[NEXT], "agent-1", "delivery-next"))
        with told("once healed"):
            for number, count in act.counts(project).items():
                expect(f"delivery {number} counts {count} times once healed", count in ((0, 0), (1, 1)))
                expect(f"lost: delivery {number} was acknowledged", number not in cut.acknowledged or count == (1, 1))
            status = project.git("status", "--porcelain")
            for task in act.edited:
                expect(f"the edit of {task} is gone", EDIT in project.read(project.path(task)))
                status = re.sub(rf"^ M tasks/\S*{task}\.md\n", "", status, flags=re.M)
            expect(f"once healed git status says\n{status}", status == LEFT)
        with told("delivered again"):
            act.again(project, cut.again(act.numbers))
            for number, count in act.counts(project).items():
                right = count == (1, 1) or number not in cut.again(act.numbers) or isinstance(act, New) and count == (0, 0)
                expect(f"delivery {number} counts {count} times when it is delivered again", right)
            if cut.again(act.numbers) == list(act.numbers):
                for task in act.edited:
                    authors = project.git("log", "-M", "--format=%an", f"-S{EDIT}", "--", f"tasks/*{task}.md").split()
                    expect(f"the edit of {task} was committed by {authors}", authors == ["Ada"])
                status = project.git("status", "--porcelain")
                expect(f"in the end git status says\n{status}", status == LEFT)
            expect("what a person staged is gone", project.git("show", ":staged.txt") == "staged\n")
        with told("in the end"):
            project.run(*project.aof_words("verify"))
        with told("in the end"):
            said = project.git("fsck", "--strict", "--no-dangling", "--no-progress")
            expect(f"git fsck says {said}", not said.strip())
        with told("what is left"):
            left = leftovers(project.folder)
            seen["left"] = sorted({re.sub(r"[_-][0-9a-z]{16}$", "", os.path.basename(path)) for path in left})
            for path in left:
                # What nobody was told the name of goes when it is too old for anybody to be writing it.
                expect(f"{os.path.relpath(path, project.folder)} is left", not path.endswith(".lock"))
                os.utime(path, (time.time() - 7200,) * 2)
            if left:
                project.call(*project.aof_words("doctor", "--fix"))
                project.git("prune", "--expire", "1.hour.ago")
                left = leftovers(project.folder)
                expect(f"{[os.path.relpath(path, project.folder) for path in left]} is left for ever", not left)
        return faults


def leftovers(folder):
    found = []
    for at, _, names in os.walk(folder):
        found += [f"{at}/{name}" for name in names if re.match(r"\.aof-tmp|tmp_(obj|pack|idx)_|aof-", name) or name.endswith(".lock")]
    return found


class Job:
    """An act on a file system, stopped at a point or not."""

    def __init__(self, system, layout, image, tasks, name, stop=None, lying=False):
        self.system, self.layout, self.image, self.tasks, self.name, self.stop, self.lying = system, layout, image, tasks, name, stop, lying
        self.act = acts(tasks)[name]

    def __str__(self):
        how = f", stopped at {self.stop}" if self.stop else ", on a disk that is never asked" if self.lying else ""
        return f"{self.system}, {self.layout}: {self.name}{how}"


class Cut:
    """A moment, and what becomes of what the disk had been given and not been asked for: all of it, none, or any part is there."""

    def __init__(self, moment, acknowledged, when, rest, seed, renamed):
        self.moment, self.acknowledged, self.when = moment, acknowledged, when
        self.rest, self.seed, self.renamed = rest, seed, renamed

    def keep(self):
        chance = random.Random(self.seed)
        return {"there": lambda: True, "lost": lambda: False, "torn": lambda: chance.random() < 0.5}[self.rest]

    def again(self, numbers):
        """Of many, those around the cut."""
        numbers = list(numbers)
        return numbers if len(numbers) < 6 else numbers[max(0, len(self.acknowledged) - 1):len(self.acknowledged) + 2]

    def __str__(self):
        disk = ", the disk called otherwise" if self.renamed else ""
        return f"cut {self.when}, what it had not been asked for is {self.rest}{disk} (seed {self.seed})"


def cuts(notes, moments, job, chance, many):
    """Returns moments to cut at, those between the steps and between the writes of each, until there are so many."""
    chosen = []

    def choose(moment, acknowledged, when, rest):
        chosen.append(Cut(moment, acknowledged, when, rest, chance.randrange(1 << 30), chance.random() < 0.5))

    if job.stop:
        ends = moments[-2:]
        for rest in ("lost", "there", "torn"):
            for moment, acknowledged, when in ends:
                choose(moment, acknowledged, when, rest)
        chance.shuffle(chosen)
        return chosen[:many]
    for moment, acknowledged, when in moments[1:]:
        choose(moment, acknowledged, when, "lost")
    between = []
    for (since, before, _), (until, _, _) in zip(moments, moments[1:]):
        inside = notes.moments(since, until)
        between += [(moment, before, f"at write {number + 1} of {len(inside)} after {len(before)} returned") for number, moment in enumerate(inside)]
    chance.shuffle(between)
    for number, (moment, before, when) in enumerate(between):
        choose(moment, before, when, ("lost", "there", "torn", "torn")[number % 4])
    # What was acknowledged is asked first; then as many moments in between as there is time for.
    return chosen[:max(many, 1)] if job.lying else chosen[:len(moments) - 1] + chosen[len(moments) - 1:many]


BENCH = None


def start_worker(aof, home):
    global BENCH
    power_disk.die_with_parent()
    BENCH = Bench(aof, f"{home}/{os.getpid()}")


def make_base(system, layout, image):
    with BENCH.turn(system):
        return system, layout, image, BENCH.make_base(system, layout, image)


def work(job, seed, many, deadline, keep):
    """Returns what was found: for each cut its faults and what was seen."""
    chance, results, known = random.Random(f"{seed} {job}"), [], set()
    try:
        with BENCH.turn(job.system):
            notes, moments = BENCH.record(job)
        for cut in cuts(notes, moments, job, chance, many):
            found = notes.at(cut.moment, cut.keep())
            state = hashlib.sha1(repr((cut.acknowledged, cut.renamed, sorted((key, bytes(piece)) for key, piece in found.items()))).encode())
            if state.digest() in known or time.monotonic() > deadline and results:
                continue
            known.add(state.digest())
            states = [(cut, job.image, found)]
            with BENCH.turn(job.system):
                if not job.lying and chance.random() < 0.25:
                    states.append(BENCH.cut_again(job, cut, found, chance))
                for cut, base, found in states:
                    faults, seen = BENCH.judge(job, cut, base, found)
                    if faults and keep and not job.lying:
                        image = os.path.join(keep, f"{seed}-{state.hexdigest()[:8]}-{len(results)}.img")
                        run("cp", "--sparse=always", base, image)
                        power_disk.write(image, found)
                        faults.append(f"it is kept in {image}")
                    results.append((cut, faults, seen))
    except (Fault, RuntimeError, OSError) as fault:
        results.append(("not at all", [f"the check itself fails: {fault}"], {}))
    return job, results


def jobs_of_round(bases, chance, number, only):
    """Returns each act on each file system, to its end in each layout, and stopped at each point in one of them."""
    jobs = []
    for system, made in bases.items():
        for layout, image, tasks in made:
            jobs += [Job(system, layout, image, tasks, name) for name in acts(tasks)]
            if number == 0:
                jobs.append(Job(system, layout, image, tasks, "a completion in place", lying=True))
        for name in acts(made[0][2]):
            for point in POINTS if name != "many completions" else ():
                jobs.append(Job(system, *chance.choice(made), name, point))
    return [job for job in jobs if only in str(job)]


class Report:
    """What was found on each file system."""

    def __init__(self):
        self.cuts, self.lost, self.left = collections.Counter(), collections.Counter(), collections.Counter()
        self.faults = collections.defaultdict(list)
        self.lies, self.seen_through = 0, 0

    def add(self, job, results):
        for cut, faults, seen in results:
            how = f"{job}; {cut}"
            if "written-and-synced" in seen and not seen["written-and-synced"]:
                faults = ["a file that was synced is not there: the check itself fails", *faults]
            if job.lying:
                self.lies += 1
                self.seen_through += any(fault.startswith("lost") for fault in faults)
                continue
            self.cuts[job.system] += 1
            self.lost[job.system] += "written-and-not-synced" in seen and not seen["written-and-not-synced"]
            self.left.update(seen.get("left", []))
            if faults:
                self.faults[job.system].append((how, faults))

    def blind(self, systems):
        """Returns in what this would not have found a fault."""
        for system in systems:
            if not self.cuts[system]:
                yield f"the power was never cut on {system}"
            elif not self.lost[system]:
                yield f"on {system} a file that was never synced was there after each cut"
        if not self.seen_through:
            yield f"of {self.lies} cuts of a disk that was never asked to have anything down, none was seen through"

    def tell(self, systems):
        for system in systems:
            promised = ", where none of it is promised" if system == BARE else ""
            print(f"power: {system}{promised}: {self.cuts[system]} cuts, {len(self.faults[system])} with faults")
            kinds = collections.defaultdict(list)
            for how, faults in self.faults[system]:
                kinds[re.sub(r"/\S+|[0-9a-f]{7,}|AOF-\w+|tmp-\w+|\d+", "N", faults[0])].append((how, faults))
            for found in sorted(kinds.values(), key=len, reverse=True):
                how, faults = found[0]
                print(f"  {len(found)} times, as in {how}:")
                for fault in faults:
                    print("    " + fault.strip().replace("\n", "\n      "))
        print(f"power: {self.seen_through} of {self.lies} cuts of a disk that was never asked were seen through, and "
              f"{sum(self.lost.values())} of {sum(self.cuts.values())} took a file that was never synced")


def main():
    parser = argparse.ArgumentParser(prog=".ci/power")
    parser.add_argument("aof")
    parser.add_argument("home")
    parser.add_argument("--quick", action="store_true", help="only ext4 with its journal")
    parser.add_argument("--seconds", type=int, help="how long to go on; every act and point has its turn before any has a second one")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 20), help="what chose the moments, to choose them again")
    parser.add_argument("--only", default="", help="only acts with this in their names, as they are told")
    parser.add_argument("--keep", help="a folder for the disks on which something was found")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    systems = [system for system, how in SYSTEMS.items() if shutil.which(how.make[0]) and (system == "ext4" or not options.quick)]
    seconds = options.seconds or (45 if options.quick else 150)
    began, report, rounds = time.monotonic(), Report(), 0
    deadline = began + seconds
    workers = max(2, os.cpu_count() or 1)
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(workers, context, start_worker, (options.aof, options.home)) as pool:
        made = [pool.submit(make_base, system, layout, f"{options.home}/{number}-{layout}.img") for number, system in enumerate(systems) for layout in LAYOUTS]
        bases = collections.defaultdict(list)
        for base in made:
            system, *rest = base.result()
            bases[system].append(rest)
        chance, running = random.Random(options.seed), set()
        while time.monotonic() < deadline:
            jobs = jobs_of_round(bases, chance, rounds, options.only)
            if not jobs:
                sys.exit(f"power: there is no `{options.only}`")
            chance.shuffle(jobs)
            jobs.sort(key=lambda job: not job.lying)
            done = 0
            while done < len(jobs) and time.monotonic() < deadline:
                job = jobs[done]
                many = 2 if job.lying else 1 if job.stop else 6
                running.add(pool.submit(work, job, f"{options.seed}-{int(rounds)}", many, deadline, options.keep))
                done += 1
                if len(running) > workers:
                    ready, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                    for future in ready:
                        report.add(*future.result())
            rounds += done / len(jobs) if done < len(jobs) else 1
        for future in running:
            report.add(*future.result())
    report.tell(systems)
    for blind in report.blind(systems if not options.only else report.cuts):
        print(f"power: the check itself fails: {blind}")
    print(f"power: {rounds:.1f} rounds in {time.monotonic() - began:.0f} s, seed {options.seed}")
    blind = any(report.blind(systems)) and not options.only
    sys.exit(int(blind or any(faults for system, faults in report.faults.items() if system != BARE)))


if __name__ == "__main__":
    main()
