//! Whole transitions against git itself, in one run: `cargo bench --bench whole [-- SIZES..]`, as in `-- 100 1000`.
//!
//! For each size and layout: `git add` and `git commit` of the change that a transition makes (plain, and with git's own durable
//! setting), `aof complete` as a process, the transition inside a process, and one durable replacement of a file, which no
//! writer can beat. The five take turns, so that a busy machine slows them alike. Prints medians with the middle half of the
//! samples, in milliseconds, and what each costs against git. `AOF_BENCH_PLACE` names another folder to work in: `benches/slow_disk`
//! sets it to one on a disk whose syncs take as long as you say.

#![allow(clippy::print_stdout, reason = "its table is what it is for")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use aof::domain::{
    Completion, CompletionContent, GateId, Map, OpenVisit, RoleId, Routing, Status, Task, TaskId,
    TaskLayout, Ticket, Timestamp, WorkflowName,
};
use aof::files::task_file;
use aof::project::workspace::Workspace;
use aof::storage::layout::task_path;
use aof::tasks::complete::complete;
use aof::tasks::plan::DryRun;

const SAMPLES: usize = 40;
const RULES: &str = "workflow:\n  gates:\n    - {id: implement, role: backend}\n    - {id: review, role: reviewer, canReject: true}\n";
const ORG: &str = "roles:\n  backend: {agents: [agent-7]}\n  reviewer: {agents: [agent-3]}\n";

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![100, 1_000, 10_000] } else { sizes };
    println!(
        "| tasks | layout | git | git, fsync | aof, process | aof, inside | file replaced | git / process | git, fsync / process | git / inside | git, fsync / inside |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for size in sizes {
        for layout in [TaskLayout::Flat, TaskLayout::Sharded] {
            report(&Project::new(size, layout));
        }
    }
}

fn report(project: &Project) {
    let mut times: [Vec<Duration>; 5] = Default::default();
    // The first round of each warms caches and does not count.
    for round in 0..=SAMPLES {
        for (way, times) in times.iter_mut().enumerate() {
            let time = project.sample(way, (round * 4 + way) % project.ids.len());
            if round > 0 {
                times.push(time);
            }
        }
    }
    let shown: Vec<String> = times.iter_mut().map(|times| spread(times)).collect();
    let medians: Vec<f64> =
        times.iter().map(|times| milliseconds(times[times.len() / 2])).collect();
    let ratio = |git: usize, aof: usize| format!("{:.1}x", medians[git] / medians[aof]);
    let ratios = [ratio(0, 2), ratio(1, 2), ratio(0, 3), ratio(1, 3)];
    println!(
        "| {} | {} | {} | {} |",
        project.ids.len(),
        project.layout,
        shown.join(" | "),
        ratios.join(" | ")
    );
}

fn spread(times: &mut [Duration]) -> String {
    times.sort();
    let at = |part: usize| milliseconds(times[times.len() * part / 4]);
    format!("{:.2} ({:.2} to {:.2})", at(2), at(1), at(3))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

struct Project {
    folder: tempfile::TempDir,
    layout: TaskLayout,
    ids: Vec<TaskId>,
}

impl Project {
    fn new(size: usize, layout: TaskLayout) -> Self {
        // Beside the binary: the system's temporary folder may be in memory, where nothing is durable.
        let place = std::env::var_os("AOF_BENCH_PLACE")
            .unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").into());
        let folder = tempfile::tempdir_in(Path::new(&place)).expect("a folder can be made");
        let ids = (0..size.max(4 * (SAMPLES + 1)))
            .map(|number| format!("AOF-{}", base36(number)).parse().expect("it is an id"))
            .collect();
        let project = Self { folder, layout, ids };
        project.git(&["init", "-q", "-b", "main"]);
        for (key, value) in
            [("user.name", "Bench"), ("user.email", "bench@example.org"), ("gc.auto", "0")]
        {
            project.git(&["config", key, value]);
        }
        project.write("project.yaml", format!("{RULES}tasks: {{layout: {layout}}}\n").as_bytes());
        project.write("org.yaml", ORG.as_bytes());
        for id in &project.ids {
            project.write(
                project.path_of(id).as_str(),
                task_file::create(&task(id), "What is to be done.\n").as_bytes(),
            );
        }
        project.git(&["add", "-A"]);
        project.git(&["commit", "-q", "-m", "start"]);
        project
    }

    fn sample(&self, way: usize, number: usize) -> Duration {
        let id = &self.ids[number];
        match way {
            0 => self.by_git(id, &[]),
            1 => self.by_git(id, &["-c", "core.fsync=all"]),
            2 => self.by_process(id),
            3 => self.inside(id),
            _ => self.replaced(),
        }
    }

    fn by_git(&self, id: &TaskId, settings: &[&str]) -> Duration {
        let path = self.path_of(id);
        let text = fs::read_to_string(self.folder.path().join(&path)).expect("it was written");
        self.write(&path, text.replace("current: implement", "current: review").as_bytes());
        let start = Instant::now();
        self.git(&[settings, &["add", &path]].concat());
        self.git(&[settings, &["commit", "-q", "-m", "implement -> review"]].concat());
        start.elapsed()
    }

    fn by_process(&self, id: &TaskId) -> Duration {
        let start = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_aof"))
            .args([
                "task",
                "complete",
                id.as_str(),
                "--agent",
                "agent-7",
                "--outcome",
                "complete",
                "--summary",
                "done",
            ])
            .current_dir(self.folder.path())
            .stdout(std::process::Stdio::null())
            .status()
            .expect("aof runs");
        assert!(status.success());
        start.elapsed()
    }

    fn inside(&self, id: &TaskId) -> Duration {
        let completion = Completion {
            ticket: Ticket { task: id.clone(), visit: None, branch: None },
            gate: None,
            agent: "agent-7".parse().expect("it is an id"),
            content: CompletionContent {
                outcome: Some("complete".to_owned()),
                summary: Some("done".to_owned()),
                ..CompletionContent::default()
            },
            id: format!("bench-{id}").parse().expect("it is an id"),
            signature: None,
            facts: Box::default(),
        };
        let workspace = Workspace::open(
            self.folder.path(),
            "bench".to_owned(),
            Timestamp::now,
            Duration::from_secs(10),
            |_| (),
        )
        .expect("the project opens");
        let start = Instant::now();
        complete(&workspace, &completion, DryRun::No).expect("it counts");
        start.elapsed()
    }

    fn replaced(&self) -> Duration {
        let path = self.folder.path().join("floor");
        let temporary = self.folder.path().join("floor.tmp");
        let start = Instant::now();
        let mut file = File::create(&temporary).expect("it can be made");
        file.write_all(&[b'x'; 3000]).expect("it can be written");
        file.sync_data().expect("it can be synced");
        fs::rename(&temporary, &path).expect("it can be renamed");
        File::open(self.folder.path())
            .and_then(|folder| folder.sync_all())
            .expect("it can be synced");
        start.elapsed()
    }

    fn path_of(&self, id: &TaskId) -> String {
        task_path(id, self.layout).to_string()
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path: PathBuf = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("folders can be made");
        fs::write(path, bytes).expect("it can be written");
    }

    fn git(&self, words: &[&str]) {
        let status = Command::new("git")
            .args(words)
            .current_dir(self.folder.path())
            .status()
            .expect("git runs");
        assert!(status.success(), "git {words:?}");
    }
}

fn task(id: &TaskId) -> Task {
    let at: Timestamp = "2026-02-16T10:00:00Z".parse().expect("it is a time");
    let (gate, role): (GateId, RoleId) =
        ("implement".parse().expect("a name"), "backend".parse().expect("a name"));
    let workflow: WorkflowName = "default".parse().expect("a name");
    Task {
        id: id.clone(),
        title: format!("Task {id}"),
        description: None,
        status: Status::Ready,
        created: at,
        updated: at,
        routing: Routing { role: Some(role), ..Routing::of(workflow) },
        gate: Some(OpenVisit::at(gate, at, 0)),
        history: Vec::new(),
        review: None,
        blockers: Vec::new(),
        context: Map::new(),
        workflow_hash: None,
        plan: aof::domain::TaskPlan::default(),
        tags: vec!["auth".to_owned()],
        metadata: Map::new(),
        depends_on: Vec::new(),
        parent: None,
        created_by: None,
    }
}

/// Returns five characters that differ for each number and begin differently for neighbours, like drawn ones.
fn base36(number: usize) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut rest = number * 7_919 % 60_466_176;
    (0..5)
        .map(|_| {
            let digit = DIGITS[rest % 36];
            rest /= 36;
            char::from(digit)
        })
        .collect()
}
