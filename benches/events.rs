//! How fast the event stream is made again: `cargo bench --bench events [-- TASKS..]`, as in `-- 2500`.
//!
//! Each task is created and completed at four gates, once sent back, each in a commit of its own, in turns: 2,500 tasks are 17,500
//! commits. The stream is made from history where its objects are loose files, and where git has packed them; beside it `git log
//! --raw` walks the same commits and compares the same trees, and reads no file. Prints medians of three rounds.

#![allow(clippy::print_stdout, reason = "its table is what it is for")]

mod story;

use std::time::{Duration, Instant};

use aof::observability::events::catch_up::catch_up_events;
use aof::observability::events::catch_up::rebuild_events;
use aof::project::workspace::Workspace;
use aof::tasks::create::{NewTask, create};
use aof::tasks::plan::DryRun;

use story::{git, open, project};

const ROUNDS: usize = 3;

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1_250] } else { sizes };
    println!(
        "| tasks | objects | commits | events | made again in | a second | one more commit | `git log --raw` |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for size in sizes {
        let folder = tempfile::TempDir::new().expect("a folder");
        let workspace = project(folder.path(), size);
        report(&workspace, size, "loose");
        git(folder.path(), &["gc", "--quiet", "--prune=now"]);
        report(&open(folder.path()), size, "packed");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or("unknown", str::trim);
    println!("\nmost memory that was ever in use, the making of the history included: {peak}");
}

fn report(workspace: &Workspace, size: usize, objects: &str) {
    let (mut times, mut walks, mut single) = (Vec::new(), Vec::new(), Vec::new());
    let (mut commits, mut events) = (0, 0);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let rebuilt = rebuild_events(workspace).expect("a stream");
        times.push(begun.elapsed());
        (commits, events) = (rebuilt.commits, rebuilt.lines);
        let begun = Instant::now();
        git(workspace.paths.root(), &["log", "--raw", "--no-renames", "--first-parent"]);
        walks.push(begun.elapsed());
        create(workspace, &[NewTask::titled("One more")], None, DryRun::No).expect("a task");
        let begun = Instant::now();
        catch_up_events(workspace).expect("a stream");
        single.push(begun.elapsed());
    }
    let time = median(&mut times);
    println!(
        "| {size} | {objects} | {commits} | {events} | {:.2} s | {:.0} | {:.1} ms | {:.2} s |",
        time.as_secs_f64(),
        f64::from(u32::try_from(events).unwrap_or(u32::MAX)) / time.as_secs_f64(),
        median(&mut single).as_secs_f64() * 1e3,
        median(&mut walks).as_secs_f64(),
    );
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
