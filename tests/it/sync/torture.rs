//! Many clones at work at once against one bare remote. The long mode is `AOF_TORTURE=5x200 cargo test --test it torture -- --ignored`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;

use crate::support::clones::Clones;
use crate::support::environment::PROJECT;

/// So many tasks are fought for: fewer than what is said of them.
const TASKS_A_CLONE: usize = 4;

/// What one clone said, and what became of it.
#[derive(Default)]
struct Told {
    /// Completions that were acknowledged.
    said: BTreeSet<String>,
    /// Completions that it was told count no more.
    lost: BTreeSet<String>,
    rounds: u64,
    merges: usize,
}

/// As many clones at once say so many completions each, syncing all the while; then all sync until nothing moves.
#[expect(clippy::print_stderr, reason = "whoever measures wants to see it")]
fn torture(clones: usize, completions: usize) {
    let names: Vec<String> = (1..clones).map(|number| format!("clone-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rules = PROJECT
        .replace("    - id: review\n      role: architect\n      canReject: true\n", &loops());
    let scene = Clones::new(&rules, &names);
    let ids: Vec<String> = (0..clones * TASKS_A_CLONE)
        .map(|number| scene.env.new_task(&[&format!("Task {number}")]))
        .collect();
    let all: Vec<&str> = std::iter::once(".").chain(names.iter().copied()).collect();
    for clone in &all {
        scene.does(clone, &["sync"]);
    }
    let start = Instant::now();
    let mut told: Vec<Told> = std::thread::scope(|scope| {
        let hands = all.iter().enumerate().map(|(hand, clone)| {
            let commands = commands(&scene, clone, hand, completions, &ids);
            scope.spawn(move || work(commands))
        });
        let hands: Vec<_> = hands.collect();
        hands.into_iter().map(|hand| hand.join().unwrap()).collect()
    });
    let took = start.elapsed();
    // Twice round: what the last one pushed comes to the first.
    for clone in all.iter().chain(&all) {
        let output = scene.aof(clone, &["sync", "--json"]);
        let mut last = Told::default();
        note(&mut last, output.stdout.as_bytes(), output.code, &output.stderr);
        told.push(last);
    }
    let heads: BTreeSet<String> =
        all.iter().map(|clone| scene.git(clone, &["rev-parse", "HEAD"])).collect();
    assert_eq!(heads.len(), 1, "they did not converge");
    for clone in &all {
        assert_eq!(scene.git(clone, &["status", "--porcelain"]), "", "{clone}");
    }
    let kept = entries(&scene, &ids);
    let superseded = trailers(&scene);
    let said: BTreeSet<&String> = told.iter().flat_map(|told| &told.said).collect();
    for id in &said {
        assert!(kept.contains(*id) || superseded.contains(*id), "{id} was said, and is nowhere");
        assert!(
            !(kept.contains(*id) && superseded.contains(*id)),
            "{id} counts, and is superseded"
        );
    }
    assert!(kept.iter().all(|id| said.contains(id)), "an entry that nobody made");
    let verified = scene.aof(".", &["verify"]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    let fsck = scene.env.try_git(&["fsck", "--strict"]);
    assert_eq!(fsck.code, Some(0), "{}", fsck.stderr);
    let rounds: u64 = told.iter().map(|told| told.rounds).sum();
    let merges: usize = told.iter().map(|told| told.merges).sum();
    let lost: usize = told.iter().map(|told| told.lost.len()).sum();
    assert_eq!(lost, superseded.len(), "whoever was too late is told");
    if std::env::var_os("AOF_TORTURE").is_some() {
        eprintln!(
            "{clones} clones, {completions} completions each: {:.1} s, {} entries, {} superseded, {merges} merges, {rounds} offers",
            took.as_secs_f64(),
            kept.len(),
            superseded.len()
        );
    }
}

/// Work that never ends, so that there is always something to fight for.
fn loops() -> String {
    "      routes: {again: {to: implement}, done: {to: $end}}\n      maxRetries: 100000\n"
        .to_owned()
}

/// A completion, or a sync, that is to be run.
struct Step {
    command: std::process::Command,
    completion: Option<String>,
}

fn commands(
    scene: &Clones,
    clone: &str,
    hand: usize,
    completions: usize,
    ids: &[String],
) -> Vec<Step> {
    let agent = format!("agent-{}", hand % 3 + 1);
    let mut steps = Vec::new();
    for number in 0..completions {
        let task = &ids[(number * 7 + hand * 3) % ids.len()];
        let id = format!("said-{hand}-{number}");
        let args = [
            "task",
            "complete",
            task,
            "--agent",
            &agent,
            "--outcome",
            "again",
            "--summary",
            "Did it",
            "--id",
            &id,
        ];
        let command = scene.command(clone, &args);
        steps.push(Step { command, completion: Some(id) });
        if number % 5 == 4 {
            steps.push(Step {
                command: scene.command(clone, &["sync", "--json"]),
                completion: None,
            });
        }
    }
    steps
}

fn work(steps: Vec<Step>) -> Told {
    let mut told = Told::default();
    for Step { mut command, completion } in steps {
        let output = command.stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        match completion {
            Some(id) => {
                assert!(output.status.success(), "{command:?}: {stderr}");
                told.said.insert(id);
            }
            None => note(&mut told, &output.stdout, output.status.code(), &stderr),
        }
    }
    told
}

/// A sync may give up for now where too many are at it; then all of it waits for the next.
fn note(told: &mut Told, stdout: &[u8], code: Option<i32>, stderr: &str) {
    assert!(matches!(code, Some(0 | 7)), "{code:?}: {stderr} {}", String::from_utf8_lossy(stdout));
    let value: Value = serde_json::from_slice(stdout).unwrap();
    told.rounds += value["rounds"].as_u64().unwrap();
    told.merges += usize::from(!value["merge"].is_null());
    for loss in value["superseded"].as_array().unwrap() {
        let words: Vec<&str> = loss["what"].as_str().unwrap().split(' ').collect();
        told.lost.insert(words[1].to_owned());
    }
}

/// Returns the completions that histories have.
fn entries(scene: &Clones, ids: &[String]) -> BTreeSet<String> {
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    for id in ids {
        let task = scene.aof(".", &["task", "show", id, "--json"]).success().json();
        for entry in task["gateHistory"].as_array().into_iter().flatten() {
            *kept.entry(entry["completion"]["id"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert!(kept.values().all(|count| *count == 1), "an entry is there twice");
    kept.into_keys().collect()
}

/// Returns the completions that merge commits list as superseded.
fn trailers(scene: &Clones) -> BTreeSet<String> {
    let log =
        scene.git(".", &["log", "--merges", "--format=%(trailers:key=Aof-Superseded,valueonly)"]);
    log.lines().filter_map(|line| line.split(' ').nth(1)).map(str::to_owned).collect()
}

/// All converge, no entry is lost, and whoever was too late is told.
#[test]
fn three_clones_at_once_converge() {
    torture(3, 10);
}

#[test]
#[ignore = "minutes: run it with AOF_TORTURE=5x200"]
fn torture_of_many() {
    let size = std::env::var("AOF_TORTURE").unwrap_or_else(|_| "5x200".to_owned());
    let (clones, completions) = size.split_once('x').unwrap();
    torture(clones.parse().unwrap(), completions.parse().unwrap());
}
