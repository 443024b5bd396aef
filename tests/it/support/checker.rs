//! An independent judge of a project: reads git with the git CLI and the frontmatter with another YAML parser, and knows the
//! invariants. Shares no code with `aof`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;
use std::sync::Mutex;

use serde_json::Value;

use crate::support::environment::TestEnvironment;
use crate::support::fork_checker::fork_faults;
use crate::support::signature_checker::signature_fault;

/// One commit as git tells it.
struct Commit {
    id: String,
    parents: Vec<String>,
    trailers: Vec<(String, String)>,
    subject: String,
    /// What it changed of its first parent: path, status, blob.
    changes: Vec<(String, char, String)>,
}

/// What a task's file says of its history.
type History = Rc<Vec<Value>>;

/// The histories of all tasks under a commit.
type Histories = BTreeMap<String, History>;

/// Expects that everything holds that must hold when nothing runs.
#[track_caller]
pub(crate) fn check(env: &TestEnvironment) {
    let faults = faults(env);
    assert!(faults.is_empty(), "the project is broken:\n{}\n\n{}", faults.join("\n"), state(env));
}

/// Expects what [`check`] does of a project in which people have moved tasks by hand, as `aof verify` would say.
#[track_caller]
pub(crate) fn check_what_people_moved(env: &TestEnvironment) {
    let mut faults = history_faults(env);
    faults.extend(rest_faults(env));
    assert!(faults.is_empty(), "the project is broken:\n{}\n\n{}", faults.join("\n"), state(env));
}

/// Expects what [`check`] does of a project in which processes were killed anywhere: what one of them was just writing in `.aof/`
/// before anything told its name goes when it is a minute old.
#[track_caller]
pub(crate) fn check_after_kills(env: &TestEnvironment) {
    let mut faults = faults(env);
    faults.retain(|fault| !(fault.starts_with("I8: .aof/") && fault.contains("/.aof-tmp-")));
    assert!(faults.is_empty(), "the project is broken:\n{}\n\n{}", faults.join("\n"), state(env));
}

/// Returns what does not hold.
pub(crate) fn faults(env: &TestEnvironment) -> Vec<String> {
    let mut faults = history_faults(env);
    faults.extend(rest_faults(env));
    faults.extend(verify_faults(env));
    faults
}

/// What `aof verify` finds wrong: it is to agree with the judge here.
fn verify_faults(env: &TestEnvironment) -> Vec<String> {
    once_for_head(env, "verify", || {
        let verified = env.aof_aside(&["verify"]);
        if verified.code == Some(0) { Vec::new() } else { vec![verified.to_string()] }
    })
}

/// Judges the commits of HEAD, or returns how the same commits were judged: a step that is killed at each point in turn, and then
/// finished, ends in few different histories. The clock goes on as if they were judged again.
fn once_for_head(
    env: &TestEnvironment,
    judge: &'static str,
    faults: impl FnOnce() -> Vec<String>,
) -> Vec<String> {
    type Judgements = BTreeMap<(String, &'static str), (Vec<String>, u32)>;
    static KNOWN: Mutex<Judgements> = Mutex::new(BTreeMap::new());
    // Elsewhere the answer also depends on the folder of the project.
    if !env.path(".git").is_dir() {
        return faults();
    }
    let key = (env.aside(|| env.head()).0, judge);
    let known = KNOWN.lock().unwrap().get(&key).cloned();
    let (faults, seconds) = known.unwrap_or_else(|| {
        let found = env.aside(faults);
        KNOWN.lock().unwrap().insert(key, found.clone());
        found
    });
    env.pass_seconds(seconds);
    faults
}

/// Expects that what is committed is sound, whatever lies in the worktree.
#[track_caller]
pub(crate) fn check_history(env: &TestEnvironment) {
    let faults = history_faults(env);
    assert!(faults.is_empty(), "the history is broken:\n{}\n\n{}", faults.join("\n"), state(env));
}

fn state(env: &TestEnvironment) -> String {
    format!(
        "{}\n{}",
        env.git(&["status", "--short"]),
        env.git(&["log", "--stat", "--format=%h %an %s"])
    )
}

/// I1, I3, I4, I9, I12, and that no completion counts twice.
fn history_faults(env: &TestEnvironment) -> Vec<String> {
    let mut faults = once_for_head(env, "commits", || commit_faults(env));
    faults.extend(object_faults(env));
    faults
}

fn commit_faults(env: &TestEnvironment) -> Vec<String> {
    let mut faults = Vec::new();
    let commits = commits(env);
    // Git is asked only where the project is not the top of a plain repository: this runs thousands of times.
    let git = env.path(".git");
    let prefix = if git.is_dir() {
        String::new()
    } else {
        env.git(&["rev-parse", "--show-prefix"]).trim().to_owned()
    };
    let blobs = blobs(env, &commits);
    let mut states: BTreeMap<&str, Histories> = BTreeMap::new();
    let mut completions = BTreeSet::new();
    // Nobody signs where no key was ever named.
    let is_signed =
        commits.iter().flat_map(|commit| &commit.changes).any(|(path, status, blob)| {
            *status != 'D'
                && *path == format!("{prefix}org.yaml")
                && is_in(&blobs[blob], b"signingKey")
        });
    for commit in &commits {
        // Another project of the repository has commits of its own.
        let is_here = commit.changes.is_empty()
            || commit.changes.iter().any(|(path, _, _)| path.starts_with(&prefix));
        let by_engine = is_here && commit.trailer("Aof-Task").is_some();
        let mut tasks = commit
            .parents
            .first()
            .map(|parent| states[parent.as_str()].clone())
            .unwrap_or_default();
        let mut changed = BTreeMap::new();
        for (path, _, blob) in commit.changes.iter().filter(|(_, status, _)| *status != 'D') {
            let Some(id) = task_of(&prefix, path) else { continue };
            match parse(&blobs[blob]) {
                Ok(front) => {
                    if by_engine {
                        faults.extend(fork_faults(&format!("{} {id}", commit.id), &front));
                    }
                    changed.insert(id, history(&front));
                }
                Err(problem) if by_engine => {
                    faults.push(format!("I1: {} {path}: {problem}", commit.id));
                }
                Err(_) => {}
            }
        }
        if by_engine {
            faults.extend(commit.faults(&prefix, &tasks, &changed));
            let grown =
                changed.iter().filter(|_| is_signed && commit.trailer("Aof-Outcome").is_some());
            faults.extend(
                grown.filter_map(|(id, history)| signature_fault(env, &commit.id, id, history)),
            );
            for id in commit.trailers_of("Aof-Completion") {
                if !completions.insert(id.to_owned()) {
                    faults.push(format!("completion {id} counts twice, again in {}", commit.id));
                }
            }
        }
        tasks.extend(changed);
        if let [ours, theirs] = &commit.parents[..] {
            let bases = env.git(&["merge-base", "--all", ours, theirs]);
            let bases: Vec<&Histories> =
                bases.lines().filter_map(|base| states.get(base)).collect();
            faults.extend(commit.merge_faults(
                [&states[ours.as_str()], &states[theirs.as_str()]],
                &bases,
                &tasks,
            ));
        }
        states.insert(&commit.id, tasks);
    }
    let mut entries = BTreeSet::new();
    for (id, history) in
        commits.last().map(|newest| &states[newest.id.as_str()]).into_iter().flatten()
    {
        for completion in history.iter().filter_map(|entry| entry["completion"]["id"].as_str()) {
            if !entries.insert(completion.to_owned()) {
                faults.push(format!(
                    "completion {completion} stands twice in the histories, again in {id}"
                ));
            }
        }
    }
    faults
}

/// I9: each object of the repository is whole.
fn object_faults(env: &TestEnvironment) -> Vec<String> {
    let git = env.path(".git");
    // Fsck starts a process for the commit graph and one for the index of packs, present or not.
    let lacks = |files: &[&str]| {
        git.is_dir() && !files.iter().any(|file| git.join("objects").join(file).exists())
    };
    let graph = lacks(&["info/commit-graph", "info/commit-graphs"]);
    let mut fsck = vec!["fsck", "--strict", "--no-dangling", "--no-progress"];
    for (lacks, setting) in [
        (graph, "core.commitGraph=false"),
        (lacks(&["pack/multi-pack-index"]), "core.multiPackIndex=false"),
    ] {
        if lacks {
            fsck.splice(0..0, ["-c", setting]);
        }
    }
    let fsck = env.try_git(&fsck);
    let is_sound = fsck.code == Some(0) && fsck.stdout.is_empty();
    (!is_sound).then(|| format!("I9: git fsck: {fsck}")).into_iter().collect()
}

impl Commit {
    fn trailer(&self, key: &'static str) -> Option<&str> {
        self.trailers_of(key).next()
    }

    fn trailers_of(&self, key: &'static str) -> impl Iterator<Item = &str> {
        self.trailers.iter().filter(move |(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// One entry, one commit, one set of trailers, one task; and the history only grew.
    fn faults(&self, prefix: &str, before: &Histories, after: &Histories) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault =
            |text: String| faults.push(format!("{} \"{}\": {text}", self.id, self.subject));
        let task = self.trailer("Aof-Task").unwrap_or_default();
        if self.parents.len() > 1 {
            fault("I4: it is a merge".to_owned());
        }
        for key in
            ["Aof-Task", "Aof-Gate", "Aof-Outcome", "Aof-Agent", "Aof-Completion", "Aof-Event"]
        {
            if self.trailers_of(key).count() > 1 {
                fault(format!("I4: it has several trailers {key}"));
            }
        }
        if self.trailer("Aof-Outcome").is_some() == self.trailer("Aof-Event").is_some() {
            fault("I4: it has not one of Aof-Outcome and Aof-Event".to_owned());
        }
        // A project begins with its rules and a first task.
        let begins = self
            .changes
            .iter()
            .any(|(path, status, _)| *path == format!("{prefix}project.yaml") && *status == 'A');
        if !begins && !self.subject.starts_with(&format!("{task}: ")) {
            fault("its subject does not begin with the task".to_owned());
        }
        for (path, _, _) in &self.changes {
            let name = path.rsplit('/').next().unwrap_or_default();
            if !begins
                && (!path.starts_with(&format!("{prefix}tasks/"))
                    || !name.starts_with(&format!("{task}.")))
            {
                fault(format!("I4: it touches {path}"));
            }
        }
        let Some(new) = after.get(task) else {
            fault("I4: it does not change its task".to_owned());
            return faults;
        };
        let none = History::default();
        let old = before.get(task).unwrap_or(&none);
        if !new.starts_with(old) {
            fault("I3: the history before is no prefix of the history after".to_owned());
        }
        let grown = new.len().saturating_sub(old.len());
        if grown != usize::from(self.trailer("Aof-Outcome").is_some()) {
            fault(format!("I4: the history grew by {grown}"));
        }
        if let (Some(outcome), Some(entry)) = (self.trailer("Aof-Outcome"), new.last()) {
            let answer = [
                ("gate", self.trailer("Aof-Gate"), entry["gate"].as_str()),
                ("outcome", Some(outcome), entry["outcome"].as_str()),
                ("agent", self.trailer("Aof-Agent"), entry["agent"].as_str()),
                ("completion", self.trailer("Aof-Completion"), entry["completion"]["id"].as_str()),
            ];
            for (what, trailer, entry) in
                answer.into_iter().filter(|(_, trailer, entry)| trailer != entry)
            {
                fault(format!(
                    "I4: {what} is {trailer:?} in the trailers and {entry:?} in the entry"
                ));
            }
        }
        faults
    }
}

impl Commit {
    /// I3 at a merge: each history extends that of one side. In a merge that aof makes, what the other side had besides is in it or listed as
    /// superseded; a merge of a person lists nothing.
    /// What one side had dropped since they parted was judged where that was done.
    fn merge_faults(
        &self,
        sides: [&Histories; 2],
        bases: &[&Histories],
        after: &Histories,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        let listed: Vec<&str> = self.trailers_of("Aof-Superseded").collect();
        for id in sides.iter().flat_map(|side| side.keys()).collect::<BTreeSet<_>>() {
            let merged = after.get(id).cloned().unwrap_or_default();
            let had: Vec<&History> = sides.iter().filter_map(|side| side.get(id)).collect();
            if !had.iter().any(|had| merged.starts_with(had)) {
                faults.push(format!(
                    "I3: {}: the merged history of {id} extends that of no side",
                    self.id
                ));
            }
            let is_settled = |entry: &Value| {
                let is_in_base =
                    bases.iter().any(|base| base.get(id).is_some_and(|base| base.contains(entry)));
                is_in_base && had.iter().filter(|had| had.contains(entry)).count() < had.len()
            };
            let is_ours = self.subject.starts_with("sync: ");
            let entries = had.iter().flat_map(|had| had.iter()).filter(|_| is_ours);
            for entry in entries.filter(|entry| !is_settled(entry)) {
                let completion = entry["completion"]["id"].as_str();
                let is_there = |own: &Value| {
                    own == entry
                        || completion.is_some() && own["completion"]["id"].as_str() == completion
                };
                let name = format!(
                    " {} by {} ",
                    completion.unwrap_or("-"),
                    entry["agent"].as_str().unwrap_or("nobody")
                );
                let is_listed =
                    |line: &str| line.starts_with(&format!("{id}@")) && line.contains(&name);
                if !merged.iter().any(is_there) && !listed.iter().any(|line| is_listed(line)) {
                    faults.push(format!("I3: {}: an entry of {id} is lost: {entry}", self.id));
                }
            }
        }
        faults
    }
}

/// I1 and I8 in the worktree: every task whole and where it belongs, nothing left over.
fn rest_faults(env: &TestEnvironment) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for path in env.files("tasks") {
        let name = path.rsplit('/').next().unwrap_or_default();
        if name.starts_with('.') {
            faults.push(format!("I8: {path} is left over"));
        }
        let Some(id) = task_of("", &path) else { continue };
        if !seen.insert(id.clone()) {
            faults.push(format!("{id} has two files"));
        }
        match parse(&std::fs::read(env.path(&path)).unwrap()) {
            Ok(front) => faults.extend(place_fault(&path, &front)),
            Err(problem) => faults.push(format!("I1: {path}: {problem}")),
        }
    }
    let status = env.git(&["status", "--porcelain", "--untracked-files=all", "--", "tasks"]);
    if !status.is_empty() {
        faults.push(format!("I8: worktree, index and HEAD differ:\n{status}"));
    }
    for path in env.files(".aof/inbox") {
        faults.push(format!("I8: {path} is left in the inbox"));
    }
    for path in env.files(".aof").into_iter().chain(env.files("tasks")) {
        let name = path.rsplit('/').next().unwrap_or_default();
        if name.starts_with(".aof-tmp") || path == ".aof/intent" && env.is_in_the_middle() {
            faults.push(format!("I8: {path} is left over"));
        }
    }
    let git = env.path(".git");
    let folders = if git.is_dir() {
        git.display().to_string()
    } else {
        env.git(&["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"])
    };
    for folder in folders.lines().collect::<BTreeSet<_>>() {
        faults.extend(git_leftovers(Path::new(folder)));
    }
    faults
}

fn place_fault(path: &str, front: &Value) -> Option<String> {
    let finished = matches!(front["status"].as_str(), Some("complete" | "cancelled" | "failed"));
    let last = history(front).last().and_then(|entry| entry["exited"].as_str().map(str::to_owned));
    let day = last.map(|time| time[..10].replace('-', "/")).unwrap_or_default();
    let archived = path.starts_with(&format!("tasks/archive/{day}/"));
    (finished != archived)
        .then(|| format!("{path} is {} and does not belong there", front["status"]))
}

fn git_leftovers(folder: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let is_lock = Path::new(&name).extension().is_some_and(|suffix| suffix == "lock");
            // What a kill leaves before its name was told to anybody goes later: objects by `git gc`, `aof-*` after an hour.
            if is_lock {
                faults.push(format!("I8: {} is left over", entry.path().display()));
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    faults
}

/// Returns the commits of HEAD, oldest first.
fn commits(env: &TestEnvironment) -> Vec<Commit> {
    let format = "--format=%x01%H%x02%P%x02%s%x02%(trailers:only,unfold)%x02";
    let log = env.git(&[
        "log",
        "--reverse",
        "--topo-order",
        "--raw",
        "--diff-merges=first-parent",
        "--no-renames",
        "--no-abbrev",
        "-r",
        "-z",
        format,
    ]);
    log.split('\u{1}').skip(1).map(commit).collect()
}

fn commit(text: &str) -> Commit {
    let fields: Vec<&str> = text.split('\u{2}').collect();
    let [id, parents, subject, trailers, raw] = fields[..] else { panic!("git log: {text:?}") };
    let trailers = trailers.lines().filter_map(|line| line.split_once(": "));
    let trailers = trailers.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let tokens: Vec<&str> =
        raw.split('\0').map(str::trim).filter(|token| !token.is_empty()).collect();
    let changes = tokens.chunks_exact(2).map(|pair| {
        let fields: Vec<&str> = pair[0].split(' ').collect();
        (pair[1].to_owned(), fields[4].chars().next().unwrap(), fields[3].to_owned())
    });
    Commit {
        id: id.to_owned(),
        parents: parents.split_whitespace().map(str::to_owned).collect(),
        subject: subject.to_owned(),
        trailers,
        changes: changes.collect(),
    }
}

/// Returns the contents of all the files that commits wrote.
fn blobs(env: &TestEnvironment, commits: &[Commit]) -> BTreeMap<String, Vec<u8>> {
    let wanted: BTreeSet<&str> = commits
        .iter()
        .flat_map(|commit| &commit.changes)
        .filter(|(_, status, _)| *status != 'D')
        .map(|(_, _, blob)| blob.as_str())
        .collect();
    let mut command = env.command("git");
    command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let list: String = wanted.iter().map(|blob| format!("{blob}\n")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(list.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    let mut rest = &output[..];
    let mut found = BTreeMap::new();
    for blob in wanted {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let head = std::str::from_utf8(&rest[..end]).unwrap();
        let size: usize =
            head.rsplit(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("cat-file: {head}"));
        found.insert(blob.to_owned(), rest[end + 1..end + 1 + size].to_vec());
        rest = &rest[end + size + 2..];
    }
    found
}

fn is_in(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

fn task_of(prefix: &str, path: &str) -> Option<String> {
    let below = path.strip_prefix(prefix)?.strip_prefix("tasks/")?;
    let id = below.rsplit('/').next()?.strip_suffix(".md")?;
    id.starts_with("AOF-").then(|| id.to_owned())
}

fn history(front: &Value) -> History {
    let mut entries = front["gateHistory"].as_array().cloned().unwrap_or_default();
    for entry in &mut entries {
        for key in ["entered", "exited"] {
            // A time is the same however a program writes it.
            if let Some(time) =
                entry[key].as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok())
            {
                entry[key] = time.to_string().into();
            }
        }
    }
    Rc::new(entries)
}

/// Reads the frontmatter of a task file.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| error.to_string())?
        .trim_start_matches('\u{feff}');
    let text = text.replace("\r\n", "\n");
    let after = text.strip_prefix("---\n").ok_or("it does not begin with `---`")?;
    let yaml = after.split("\n---\n").next().unwrap_or_default();
    let yaml = yaml.strip_suffix("\n---").unwrap_or(yaml);
    serde_saphyr::from_str(yaml).map_err(|error| error.to_string())
}

#[test]
fn the_checker_finds_broken_histories() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    check(&env);

    let path = env.task_path(&id);
    let sound = env.read(&path);
    env.edit(&path, "summary: Did it", "summary: Did nothing");
    assert!(rest_faults(&env)[0].starts_with("I8: worktree"), "{:?}", rest_faults(&env));
    let forged = format!("{id}: forged\n\nAof-Task: {id}\nAof-Event: edited\n");
    env.git(&["commit", "--quiet", "--all", "--message", &forged]);
    assert!(history_faults(&env)[0].contains("I3"), "{:?}", history_faults(&env));

    env.write(&path, sound.replace("title: Add login", "title: [Add login"));
    env.write("other.txt", "other");
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "--message", &forged]);
    let faults = history_faults(&env).join("\n");
    assert!(faults.contains("I1") && faults.contains("touches other.txt"), "{faults}");
    assert!(rest_faults(&env)[0].starts_with("I1"));

    env.write(".aof/intent", "{}");
    env.write(".git/index.lock", "");
    let faults = rest_faults(&env).join("\n");
    assert!(
        faults.contains(".aof/intent is left") && faults.contains("index.lock is left"),
        "{faults}"
    );
}
