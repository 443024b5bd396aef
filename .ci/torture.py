#!/usr/bin/env python3
"""Eight agents complete tasks beside `aof watch`, while a person's git is at work in the same clone, and git gc beside all.

Judged without any code of aof: each completion that was acknowledged is in HEAD's tasks exactly once, or its commit was merged from a
branch, and another completion of the same visit counts; no file of the person's is lost; git's objects are whole; and `aof verify` finds
nothing but claims that a merge dropped.

    .ci/torture.py AOF [--minutes 10] [--seed 1] [--keep]
"""
import argparse, collections, contextlib, json, os, pathlib, random, re, shlex, shutil, subprocess, sys, tempfile, threading, time, uuid

PROJECT = """project: {name: torture}
workflow:
  gates:
    - {id: work, role: crew}
    - {id: review, role: crew, canReject: true, separateFrom: [work]}
    - {id: done, role: crew}
"""
AGENTS = [f"agent-{number}" for number in range(1, 9)]

options = argparse.ArgumentParser()
options.add_argument("aof", type=pathlib.Path)
options.add_argument("--minutes", type=float, default=10)
options.add_argument("--seed", type=int, default=1)
options.add_argument("--keep", action="store_true")
options = options.parse_args()

top = pathlib.Path(tempfile.mkdtemp(prefix="aof-torture-"))
clone = top / "clone"
environment = {
    "HOME": str(top), "PATH": f"{options.aof.resolve().parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
    "GIT_EDITOR": "true", "GIT_CONFIG_NOSYSTEM": "1",
}
ends = collections.Counter()
strange, acknowledged, kept = [], {}, []
stop = threading.Event()
guard = threading.Lock()


def run(*command, check=False):
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    if check and done.returncode:
        sys.exit(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def git(*words, check=False):
    began = time.time()
    done = run("git", *words, check=check)
    with guard, open(top / "git.log", "a") as log:
        log.write(f"{began:.3f} {time.time():.3f} {done.returncode} git {' '.join(words)}\n{done.stderr}")
    return done


def aof(*words, check=False):
    return run("aof", *words, "--wait", "60s", check=check)


def agent(name, chance):
    """Takes a task, completes it, and notes what was acknowledged."""
    while not stop.is_set():
        given = aof("task", "next", "--agent", name, "--json")
        ends["next", given.returncode] += 1
        task = json.loads(given.stdout).get("task") if given.returncode == 0 else None
        if not task:
            if chance.random() < 0.5:
                ends["new", aof("task", "new", f"Task of {name}").returncode] += 1
            continue
        words, mark = ["--outcome", "complete"], str(uuid.UUID(int=chance.getrandbits(128)))
        if task["gate"]["current"] == "review" and chance.random() < 0.3:
            words = ["--outcome", "needs_review", "--blocker", f"The part of {name} has no test"]
        said = aof("task", "complete", task["ticket"], "--agent", name, "--id", mark, "--summary", f"Done by {name}", *words)
        ends["complete", said.returncode] += 1
        if said.returncode == 0:
            with guard:
                acknowledged[mark] = task["ticket"]
        # 3: on the branch that the person has switched to, there is no such task.
        elif in_the_way := re.search(r"hint: move `([^`]*)` away", said.stderr):
            # The person's git has left a finished task in the worktree, which HEAD does not have there.
            ends["moved away"] += 1
            with contextlib.suppress(FileNotFoundError):
                os.replace(in_the_way[1], top / f"{mark}.md")
        elif said.returncode not in (3, 4, 5, 7):
            strange.append(said.stderr)


def made(*words):
    """Commits, and does what the hook says where it refuses."""
    said = git("commit", "-q", *words)
    helps = re.findall(r"`git (restore --staged [^`]*|read-tree [^`]*)`", said.stderr)
    if helps:
        ends["refused by the hook"] += 1
        for command in helps:
            git(*shlex.split(command))
        aof("watch", "--once")
        said = git("commit", "-q", *words)
    return said.returncode == 0


def switch():
    """Goes back to the main branch. An edit of another act may be in the way, or what git has left when aof overtook it."""
    while (said := git("switch", "-q", "main")).returncode:
        if "untracked working tree files" in said.stderr:
            for path in re.findall(r"^\t(.*)$", said.stderr, re.M):
                away(path)
        else:
            made("-a", "-m", "what is in the way")


def away(path):
    """Moves a file away, as git advises."""
    with contextlib.suppress(FileNotFoundError):
        os.replace(clone / path, top / f"{uuid.uuid4()}.md")


def merge(name):
    """Merges a branch. Where aof has overtaken git, does what `docs/limits.md` says: takes back what git wrote."""
    said = git("merge", "-q", "--no-edit", name)
    if said.returncode == 0 or (clone / ".git/MERGE_HEAD").exists() and settle():
        git("branch", "-q", "-d", name)
        return True
    if git("merge", "--abort").returncode:
        git("read-tree", "-m", "-u", name, "HEAD")
    if "cannot lock ref" in said.stderr:
        ends["merge overtaken"] += 1
    return False


def clear(name):
    """Clears the way for a merge, as `aof status` and git say."""
    for issue in json.loads(aof("status", "--json").stdout)["attention"]:
        if issue["code"] in ("task_frozen", "merge_overtaken"):
            for command in re.findall(r"`git (re(?:store|ad-tree) [^`]*)`", issue["fix"]):
                git(*shlex.split(command))
            for path in re.findall(r"remove `([^`]*)`", issue["fix"]):
                away(path)
    git("read-tree", "-m", "-u", name, "HEAD")
    git("add", "--update")
    made("-m", "what is in the way")


def settle():
    """Ends a merge that stopped: both sides of a disputed note stay."""
    aof("merge-driver", "--settle")
    for path in git("diff", "--name-only", "--diff-filter=U").stdout.split():
        with contextlib.suppress(FileNotFoundError):
            lines = (clone / path).read_text().splitlines(keepends=True)
            marks = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
            (clone / path).write_text("".join(line for line in lines if not line.startswith(marks)))
        git("add", "--", path)
    return made("--no-edit")


def person(chance):
    """Works at files beside the tasks: commits, branches, merges, rebases, stashes, resets, and edits of tasks."""
    number = 0

    def commit(name):
        nonlocal number
        number += 1
        (clone / f"{name}.txt").write_text(f"{number}\n")
        git("add", f"{name}.txt")
        if made("-m", f"work {number} at {name}"):
            kept.append(f"work {number} at {name}")

    def branch():
        if git("switch", "-q", "-c", "side").returncode:
            return
        commit("side")
        switch()
        merge("side")

    def rebase():
        git("rebase", "-q", "--force-rebase", "--exec", "false", "HEAD~1")
        while any((clone / ".git" / name).exists() for name in ("rebase-merge", "rebase-apply")):
            git("rebase", "--abort")

    def stash():
        (clone / "main.txt").write_text(f"{chance.random()}\n")
        git("stash", "-q")
        git("stash", "pop", "-q")

    def edit():
        files = sorted((clone / "tasks").glob("*.md"))
        if files:
            # A finished task has moved meanwhile.
            with contextlib.suppress(FileNotFoundError), chance.choice(files).open("r+") as file:
                file.seek(0, os.SEEK_END)
                file.write(f"\nA note, {chance.random()}.\n")
        made("-a", "-m", "notes")

    acts = [lambda: commit("main"), branch, rebase, stash, edit, lambda: git("reset", "-q"), lambda: git("checkout", "-q", ".")]
    while not stop.is_set():
        chance.choice(acts)()
        time.sleep(chance.random() / 4)
        if git("branch", "--list", "side").stdout.strip() and git("symbolic-ref", "--short", "HEAD").stdout.strip() == "main":
            merge("side")


def collector():
    while not stop.wait(5):
        git("gc", "-q")


def watcher():
    """Keeps `aof watch` running, as a project does."""
    while not stop.is_set():
        with open(top / "watch.log", "a") as log:
            watch = subprocess.Popen(["aof", "watch"], cwd=clone, env=environment, stdout=log, stderr=log)
            ends["watch started"] += 1
            while not stop.wait(0.5) and watch.poll() is None:
                pass
            watch.terminate()
            ends["watch", watch.wait()] += 1


def judge():
    faults = list(strange)
    git("rebase", "--abort"), git("merge", "--abort")
    switch()
    tries = 5
    while git("branch", "--list", "side").stdout.strip() and not merge("side"):
        tries -= 1
        if not tries:
            faults.append("the last merge cannot be ended")
            break
        clear("side")
    git("commit", "-q", "-a", "-m", "the rest")
    aof("doctor", "--fix")
    aof("watch", "--once")
    texts = ""
    for file in git("ls-tree", "-r", "--name-only", "HEAD", "tasks", check=True).stdout.split():
        texts += git("show", f"HEAD:{file}", check=True).stdout
    counted = collections.Counter(re.findall(r"\bid: ['\"]?([0-9a-f]{8}-[0-9a-f-]{27})", texts))
    log = git("log", "--format=%B", "HEAD", check=True).stdout
    counting = {ticket for mark, ticket in acknowledged.items() if counted[mark]}
    superseded = 0
    for mark, ticket in acknowledged.items():
        # The person's branch had it, and the branch that it was merged into had another completion of the same visit, or of an earlier
        # one: then all that followed is superseded too.
        task, visit = ticket.split("@")
        is_settled = any(f"{task}@{number}" in counting for number in range(int(visit) + 1))
        if counted[mark] == 0 and is_settled and f"Aof-Completion: {mark}" in log:
            superseded += 1
        elif counted[mark] != 1:
            faults.append(f"the completion {mark} of {ticket} counts {counted[mark]} times")
    faults += [f"the commit `{subject}` is lost" for subject in kept if subject not in log]
    for found in json.loads(aof("verify", "--json").stdout)["findings"]:
        # A merge that aof overtakes may drop a claim (docs/limits.md); a completion is an entry.
        if found["rule"] == "lost_in_merge" and len({found[side].partition(", with ")[2] for side in ("expected", "found")}) == 1:
            ends["claim dropped by a merge"] += 1
        elif found["rule"] != "superseded":
            faults.append(f"`aof verify` finds {found}")
    checked = git("fsck", "--strict", "--no-dangling")
    if checked.returncode:
        faults.append(f"{checked.args[:2]}: {checked.stdout}{checked.stderr}")
    return faults, superseded


clone.mkdir()
(top / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
git("init", "-q", check=True)
(clone / "project.yaml").write_text(PROJECT)
(clone / "org.yaml").write_text(f"roles:\n  crew: {{agents: [{', '.join(AGENTS)}]}}\n")
(clone / "main.txt").write_text("0\n")
git("add", "-A", check=True)
git("commit", "-q", "-m", "rules", check=True)
aof("doctor", "--fix")
for number in range(12):
    aof("task", "new", f"Task {number}", check=True)
chances = random.Random(options.seed)
threads = [threading.Thread(target=agent, args=(name, random.Random(chances.random()))) for name in AGENTS]
threads += [threading.Thread(target=person, args=(random.Random(chances.random()),)), threading.Thread(target=collector), threading.Thread(target=watcher)]
for thread in threads:
    thread.start()
time.sleep(options.minutes * 60)
stop.set()
for thread in threads:
    thread.join()
faults, superseded = judge()
print(f"seed {options.seed}: {len(acknowledged)} acknowledged, {superseded} superseded, {len(kept)} commits of the person's, "
      f"{len(faults)} faults; exits {dict(ends)}")
for fault in faults:
    print(f"  {fault}")
if options.keep or faults:
    print(f"  kept in {top}")
else:
    shutil.rmtree(top)
sys.exit(bool(faults))
