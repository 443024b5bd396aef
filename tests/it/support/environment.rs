//! A project of its own for each test: nothing of this machine's user gets in, and the clock moves by one second a command.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use std::{fmt, fs};

use rustix::fs::{Mode, OFlags};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::terminal::terminal;
use crate::support::words::check_words;

/// Two gates: the work, and a review that can send it back.
pub(crate) const PROJECT: &str = "\
workflow:
  gates:
    - id: implement
      role: backend
    - id: review
      role: architect
      canReject: true
";

/// Who is in the roles of [`PROJECT`].
pub(crate) const ORG: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
";

/// What git is told at home. No repository is to have the samples of hooks, which take longer to write than all the rest, nor to look
/// after itself, which is a process for each commit.
const SETTINGS: &str = "\
[user]
	name = Ada
	email = ada@example.org
[core]
	fsync = none
[init]
	templateDir = ~/../template
[gc]
	auto = 0
[maintenance]
	auto = false
[advice]
	detachedHead = false
[protocol \"file\"]
	allow = always
";

/// When every test begins.
const MORNING: &str = "2026-02-16T10:00:00Z";

/// Where the environments are: in memory, where that has a gigabyte free and nobody asked for another place. Tests write many
/// small files, and no test looks at what a disk does.
static PARENT: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |room| room.f_bavail * room.f_frsize);
    let asked = std::env::var_os("TMPDIR").is_some();
    if asked || free < 1 << 30 { std::env::temp_dir() } else { memory.to_owned() }
});

/// The project that [`TestEnvironment::new`] copies: made once for all runs, under a name that changes with what is in it.
static USUAL_PROJECT: LazyLock<PathBuf> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    (SETTINGS, PROJECT, ORG).hash(&mut hasher);
    let name = format!("usual-project-{:x}", hasher.finish());
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if !place.exists() {
        let env = TestEnvironment::with_rules(PROJECT, ORG);
        let made = place.with_extension(std::process::id().to_string());
        copy_folder(&env.project, &made, |from, to| fs::copy(from, to).map(drop));
        // Another run may have been faster.
        if fs::rename(&made, &place).is_err() {
            fs::remove_dir_all(&made).unwrap();
        }
    }
    place
});

/// Copies a folder, each file as `copy` does it.
fn copy_folder(from: &Path, to: &Path, copy: impl Fn(&Path, &Path) -> io::Result<()>) {
    for entry in walkdir::WalkDir::new(from).into_iter().map(Result::unwrap) {
        let path = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(path).unwrap();
        } else {
            assert!(entry.file_type().is_file(), "{} is no file", entry.path().display());
            copy(entry.path(), &path).unwrap();
        }
    }
}

/// A folder with a home, a git repository and a project, all its own.
pub(crate) struct TestEnvironment {
    root: TempDir,
    project: PathBuf,
    seconds: Cell<u32>,
}

/// What a command did.
#[must_use = "look at what the command said, or expect that it succeeded"]
#[derive(Clone)]
pub(crate) struct Output {
    pub command: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl TestEnvironment {
    /// Returns a project with the usual rules, committed.
    pub(crate) fn new() -> Self {
        let env = Self::without_repository();
        copy_folder(&USUAL_PROJECT, &env.project, |from, to| fs::copy(from, to).map(drop));
        env.git(&["update-index", "-q", "--refresh"]);
        // As late as after the commands that made it.
        env.seconds.set(3);
        env
    }

    /// Returns a project with these rules, committed.
    pub(crate) fn with_rules(project: &str, org: &str) -> Self {
        let env = Self::without_rules();
        env.write("project.yaml", project);
        env.write("org.yaml", org);
        env.commit_all("rules");
        env
    }

    /// Returns an empty repository before its first commit.
    pub(crate) fn without_rules() -> Self {
        let env = Self::without_repository();
        env.git(&["init", "--quiet", "--initial-branch=main"]);
        env
    }

    /// Returns an empty folder.
    pub(crate) fn without_repository() -> Self {
        let root = TempDir::with_prefix_in("aof-it-", &*PARENT).unwrap();
        let real = root.path().canonicalize().unwrap();
        for folder in ["home", "project", "template/hooks", "template/info"] {
            fs::create_dir_all(real.join(folder)).unwrap();
        }
        fs::write(real.join("home/.gitconfig"), SETTINGS).unwrap();
        Self { root, project: real.join("project"), seconds: Cell::new(0) }
    }

    /// Returns another environment in which all is as it is here, for what begins at the same place many times.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::without_repository();
        let (from, to) =
            (self.root.path().canonicalize().unwrap(), copy.root.path().canonicalize().unwrap());
        let objects = to.join("project/.git/objects");
        // Git never writes to an object again: another link is enough, as in a clone.
        copy_folder(&from, &to, |from, to| {
            if to.starts_with(&objects) {
                fs::hard_link(from, to)
            } else {
                fs::copy(from, to).map(drop)
            }
        });
        // Git's index knows files by their times and inodes.
        copy.git(&["update-index", "-q", "--refresh"]);
        copy.seconds.set(self.seconds.get());
        Self { project: to.join(self.project.strip_prefix(&from).unwrap()), ..copy }
    }

    /// Works in another folder from now on.
    pub(crate) fn enter(&mut self, folder: impl AsRef<Path>) {
        self.project = self.project.join(folder);
    }

    /// Returns the home of the test's user.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap().join("home")
    }

    /// Returns a path below the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.project.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Replaces the first occurrence in a file, as somebody in an editor would.
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "`{from}` is not in {name}:\n{text}");
        self.write(name, text.replacen(from, to, 1));
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Says whether the record of a write under way says anything. Spaces are what it says between two writes.
    pub(crate) fn is_in_the_middle(&self) -> bool {
        let record = self.path(".aof/intent");
        record.exists() && !fs::read(record).unwrap().iter().all(|byte| *byte == b' ')
    }

    /// Says whether somebody has the writer lock, as its file tells. Spaces are what it says while nobody has.
    pub(crate) fn is_writing(&self) -> bool {
        fs::read_to_string(self.path(".aof/lock")).is_ok_and(|holder| holder.contains("pid"))
    }

    /// Returns the files below a folder of the project, sorted.
    pub(crate) fn files(&self, folder: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
                match entry.file_type().unwrap() {
                    kind if kind.is_dir() => folders.push(entry.path()),
                    _ => found.push(
                        entry.path().strip_prefix(&self.project).unwrap().display().to_string(),
                    ),
                }
            }
        }
        found.sort();
        found
    }

    /// Returns a command that knows only this environment, one second later than the last.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let second = self.seconds.get() + 1;
        self.seconds.set(second);
        let morning: jiff::Timestamp = MORNING.parse().unwrap();
        let now = (morning + jiff::SignedDuration::from_secs(second.into())).to_string();
        let mut command = Command::new(found(program.as_ref()));
        let own = self.home().join("bin");
        let own = Some(own).filter(|own| own.is_dir()).into_iter();
        let path = std::env::join_paths(own.chain(std::env::split_paths(&*PATH_WITH_AOF))).unwrap();
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.home())
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", self.root.path())
            .env("GIT_AUTHOR_DATE", &now)
            .env("GIT_COMMITTER_DATE", &now)
            .env("AOF_NOW", &now)
            .env("AOF_TRUST", "every program of a test")
            .current_dir(&self.project)
            .stdin(Stdio::null());
        command
    }

    /// Lets so many minutes pass.
    pub(crate) fn pass_minutes(&self, minutes: u32) {
        self.pass_seconds(minutes * 60);
    }

    pub(crate) fn pass_seconds(&self, seconds: u32) {
        self.seconds.set(self.seconds.get() + seconds);
    }

    /// Does something without time passing, and returns what it gives and how long it would have taken.
    pub(crate) fn aside<T>(&self, act: impl FnOnce() -> T) -> (T, u32) {
        let now = self.seconds.get();
        let given = act();
        (given, self.seconds.replace(now) - now)
    }

    /// Returns the binary with these arguments. A person's act has a terminal on stdin.
    pub(crate) fn aof_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(&*PROGRAM);
        command.args(args);
        if is_of_a_person(args) {
            command.stdin(silent_terminal());
        }
        command
    }

    /// Runs `aof`.
    pub(crate) fn aof(&self, args: &[&str]) -> Output {
        self.run(self.aof_command(args))
    }

    /// Runs `aof` at a terminal, on which nothing is typed.
    pub(crate) fn at_terminal(&self, args: &[&str]) -> Output {
        let mut command = self.aof_command(args);
        command.stdin(silent_terminal());
        self.run(command)
    }

    /// Runs `aof` without a terminal, as an agent's shell does.
    pub(crate) fn unattended(&self, args: &[&str]) -> Output {
        let mut command = self.aof_command(args);
        command.stdin(Stdio::null());
        self.run(command)
    }

    /// Runs `aof` without time passing.
    pub(crate) fn aof_aside(&self, args: &[&str]) -> Output {
        self.aside(|| self.aof(args)).0
    }

    /// Runs `aof` with something on stdin.
    pub(crate) fn aof_reading(&self, args: &[&str], stdin: &[u8]) -> Output {
        let mut command = self.aof_command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        self.finish(&format!("{command:?}"), child)
    }

    /// Starts `aof` and does not wait for it.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.aof_command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Waits for what was started.
    pub(crate) fn finish(&self, command: &str, child: Child) -> Output {
        let output = child.wait_with_output().unwrap();
        Output {
            command: command.to_owned(),
            code: output.status.code(),
            stdout: self.plain(&String::from_utf8_lossy(&output.stdout)),
            stderr: self.plain(&String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Runs a command.
    pub(crate) fn run(&self, mut command: Command) -> Output {
        let line = format!("{command:?}");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = self.finish(&line, child);
        check_words(&command, &output.stdout, &output.stderr);
        output
    }

    /// Runs git, which must succeed, and returns what it says, byte for byte.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = self.command("git");
        let output = command.args(args).output().unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Does the same, with ids, hashes and paths made the same in every run.
    pub(crate) fn git_plain(&self, args: &[&str]) -> String {
        self.plain(&self.git(args))
    }

    /// Runs git, which may fail.
    pub(crate) fn try_git(&self, args: &[&str]) -> Output {
        let mut command = self.command("git");
        command.args(args);
        self.run(command)
    }

    pub(crate) fn commit_all(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Makes a task and returns its id.
    pub(crate) fn new_task(&self, args: &[&str]) -> String {
        let mut command = self.aof_command(&["new"]);
        let output = command.args(args).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "new {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        text.split(':').next().unwrap().to_owned()
    }

    /// Writes a task by hand, as people do, and returns where.
    pub(crate) fn hand_made(&self, id: &str, title: &str) -> String {
        let path = format!("tasks/{id}.md");
        self.write(&path, format!("---\ntitle: {title}\n---\n"));
        path
    }

    /// Completes a task's gate, which must succeed.
    pub(crate) fn complete(&self, id: &str, agent: &str) -> Output {
        self.say(id, agent, "complete", &[]).success()
    }

    /// Says an outcome, with a summary.
    pub(crate) fn say(&self, id: &str, agent: &str, outcome: &str, more: &[&str]) -> Output {
        let mut args = vec![
            "task",
            "complete",
            id,
            "--agent",
            agent,
            "--outcome",
            outcome,
            "--summary",
            "Did it",
        ];
        args.extend(more);
        self.aof(&args)
    }

    /// Returns where a task's file is, wherever it is. While a task is on its way to the archive its file is at both places.
    pub(crate) fn task_path(&self, id: &str) -> String {
        let name = format!("/{id}.md");
        let found = || -> Vec<String> {
            self.files("tasks").into_iter().filter(|path| path.ends_with(&name)).collect()
        };
        eventually(&format!("one file of {id}"), || found().len() == 1);
        found().remove(0)
    }

    /// Returns a task's file.
    pub(crate) fn task_text(&self, id: &str) -> String {
        self.read(&self.task_path(id))
    }

    /// Returns the subjects of the log, newest first, with who wrote them.
    pub(crate) fn log(&self) -> String {
        self.git_plain(&["log", "--format=%an: %s"])
    }

    /// Returns the commit of HEAD. Git is asked only where it is not in the plainest files, since each check asks for it.
    pub(crate) fn head(&self) -> String {
        let line = |name: &str| fs::read_to_string(self.path(".git").join(name)).ok();
        let plain = line("HEAD").and_then(|head| line(head.strip_prefix("ref: ")?.trim()));
        if plain.is_some() {
            self.pass_seconds(1);
        }
        plain.unwrap_or_else(|| self.git(&["rev-parse", "HEAD"])).trim().to_owned()
    }

    /// Makes a text the same in every run.
    pub(crate) fn plain(&self, text: &str) -> String {
        let root = self.root.path().canonicalize().unwrap();
        let top = root.join("project");
        let text = text
            .replace(&top.display().to_string(), "$PROJECT")
            .replace(&root.display().to_string(), "$ROOT");
        without_ids(&text)
    }
}

/// Returns an end of a terminal on which nobody types: one for all tests of the process.
pub(crate) fn silent_terminal() -> Stdio {
    static TERMINAL: LazyLock<(OwnedFd, String)> = LazyLock::new(terminal);
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(&TERMINAL.1, flags, Mode::empty()).unwrap().into()
}

/// Returns whether the command acts as git's user, and decides where a task goes, who has it, or what its rules read.
pub(crate) fn is_of_a_person(args: &[&str]) -> bool {
    let verb = args.iter().find(|word| !matches!(**word, "task" | "--json"));
    let edits = ["tag", "untag", "priority", "due", "milestone", "meta", "unset-meta", "unset"];
    let edits = edits.iter().chain(&["depends", "undepends", "parent", "unparent", "accept"]);
    let is_edit = || edits.clone().any(|flag| args.contains(&format!("--{flag}").as_str()));
    !args.iter().any(|word| word.starts_with("--agent"))
        && match verb {
            Some(
                &("override" | "cancel" | "hold" | "unblock" | "resume" | "reopen" | "undo"
                | "assign"),
            ) => true,
            Some(&"edit") => is_edit(),
            _ => false,
        }
}

/// The tested program: a copy of what was built, made once for each build. The linker writes its file piece by piece, and so the kernel
/// keeps it in small pieces; from a file that is written in one go, a start takes a sixth less.
pub(crate) static PROGRAM: LazyLock<String> = LazyLock::new(|| {
    let built = Path::new(env!("CARGO_BIN_EXE_aof"));
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("program/aof");
    let version = |path: &Path| fs::metadata(path).and_then(|it| Ok((it.len(), it.modified()?)));
    if version(&copy).ok() != version(built).ok() {
        let made = copy.with_extension(std::process::id().to_string());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        // By a process of its own: a file that this one has open for writing may not start while another test starts something.
        let status = Command::new("cp").arg("-p").args([built, &made]).status().unwrap();
        assert!(status.success(), "{} cannot be copied: {status}", built.display());
        fs::rename(&made, &copy).unwrap();
    }
    copy.into_os_string().into_string().unwrap()
});

/// Where programs are found; git finds the `aof` that is tested.
static PATH_WITH_AOF: LazyLock<OsString> = LazyLock::new(|| {
    let tested = Path::new(&*PROGRAM).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([tested].into_iter().chain(std::env::split_paths(&others))).unwrap()
});

/// Returns the path of a program. By its name and with a `PATH` of its own, a program starts in a copy of this process's memory, which
/// takes longer than most programs run.
fn found(program: &OsStr) -> PathBuf {
    let mut paths = std::env::split_paths(&*PATH_WITH_AOF).map(|folder| folder.join(program));
    paths.find(|path| path.is_file()).unwrap_or_else(|| program.into())
}

/// Replaces what is random or a digest: drawn task ids, ULIDs, tokens, hashes.
fn without_ids(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        plain.push_str(&rest[..start]);
        let length =
            rest[start..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len() - start);
        let word = &rest[start..start + length];
        plain.push_str(stand_in(&plain, word).unwrap_or(word));
        rest = &rest[start + length..];
    }
    plain += rest;
    // YAML quotes what could be a number, and digests are what they are.
    plain
        .replace("sha256: \"SHA256\"", "sha256: SHA256")
        .replace("orkflow: \"HASH\"", "orkflow: HASH")
        .replace("workflowHash: \"HASH\"", "workflowHash: HASH")
}

fn stand_in(before: &str, word: &str) -> Option<&'static str> {
    let hexadecimal = word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match word.len() {
        5 if before.ends_with("AOF-") => Some("xxxxx"),
        50 if before.ends_with("aof_") => Some("TOKEN"),
        26 if word.starts_with("01") && !word.bytes().any(|byte| byte.is_ascii_lowercase()) => {
            Some("ULID")
        }
        64 if hexadecimal => Some("SHA256"),
        40 if hexadecimal => Some("COMMIT"),
        16 if hexadecimal => Some("HASH"),
        7 | 10 if hexadecimal && before.ends_with("commit ") => Some("COMMIT"),
        _ => None,
    }
}

impl Output {
    /// Expects that the command succeeded.
    pub(crate) fn success(self) -> Self {
        self.code(0)
    }

    /// Expects that exit code.
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{self}", self.command);
        self
    }

    /// Returns stdout as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => writeln!(f, "exit {code}")?,
            None => writeln!(f, "killed")?,
        }
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(f, "--- {name}\n{text}")?;
            }
        }
        Ok(())
    }
}

/// Waits until a condition holds, and fails when it does not within half a minute.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let start = Instant::now();
        if holds() {
            return;
        }
        assert!(Instant::now() < deadline, "{what}: not within 30 s");
        // Whoever looks all the time takes the processor from what is waited for.
        std::thread::sleep(start.elapsed().max(Duration::from_millis(1)));
    }
}

/// Lets everybody run the file.
pub(crate) fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What has git write its index in a way that only git reads.
pub(crate) const LAYOUTS: [&[&str]; 2] = [
    &["update-index", "--split-index"],
    &["sparse-checkout", "set", "--cone", "--sparse-index", "tasks"],
];

/// Returns what it says, whatever the commits are called.
pub(crate) fn nameless(output: &Output) -> String {
    let is_id = |word: &str| word.len() == 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let nameless = |line: &str| -> String {
        line.split(' ')
            .map(|word| if is_id(word) { "COMMIT" } else { word })
            .collect::<Vec<_>>()
            .join(" ")
    };
    output.to_string().lines().map(|line| nameless(line) + "\n").collect()
}

#[test]
fn only_random_text_is_replaced() {
    let text = "AOF-a1b2c at AOF-abc, commit 0123456789, 01M80S5ZHPM7ZMD12S15KTRJB6, a0771b748344d8bc, 2026-02-16T10:00:01Z";
    assert_eq!(
        without_ids(text),
        "AOF-xxxxx at AOF-abc, commit COMMIT, ULID, HASH, 2026-02-16T10:00:01Z"
    );
}
