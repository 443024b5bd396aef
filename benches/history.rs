//! What it costs to read a long history: `cargo bench --bench history [-- COMMITS..]`, as in `-- 10000 100000`.
//!
//! The engine makes the history of fifty tasks, which take turns; it is imported again and again, each time for other tasks and a day
//! later, and packed as `git gc` does. Over it run `aof verify`, the same for the last ten commits, and `aof events rebuild`, as
//! processes; beside them `git log --raw`, which walks the same commits, compares the same trees, and reads no file. Prints the best
//! of three rounds, and the most memory that was in use.

#![allow(clippy::print_stdout, reason = "its table is what it is for")]

mod story;

use std::collections::HashMap;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use jiff::ToSpan;
use jiff::civil::Date;

use story::{AT_ONCE, git, project};

const ROUNDS: usize = 3;

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![10_000] } else { sizes };
    let day = day();
    println!(
        "| commits | `aof verify` | a second | memory | the last ten | `aof events rebuild` | a second | memory | `git log --raw` |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for size in sizes {
        let folder =
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
        // Somebody may want to look at it.
        let kept = std::env::var_os("AOF_BENCH_KEEP").map(std::path::PathBuf::from);
        let root = kept.as_deref().unwrap_or(folder.path());
        let commits = long_history(root, &day, size);
        let (whole, memory) = best(root, &["verify"]);
        let (last, _) = best(root, &["verify", "--since", "HEAD~10"]);
        let (rebuilt, rebuilt_memory) = best(root, &["events", "rebuild"]);
        let start = Instant::now();
        git(root, &["log", "--raw", "--no-renames", "--first-parent"]);
        let walked = start.elapsed();
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^52")]
        let rate = |time: Duration| commits as f64 / time.as_secs_f64();
        println!(
            "| {commits} | {:.2} s | {:.0} | {memory} MiB | {:.0} ms | {:.2} s | {:.0} | {rebuilt_memory} MiB | {:.2} s |",
            whole.as_secs_f64(),
            rate(whole),
            last.as_secs_f64() * 1e3,
            rebuilt.as_secs_f64(),
            rate(rebuilt),
            walked.as_secs_f64(),
        );
    }
}

/// Runs the command, and returns the shortest time and the most memory, in MiB.
fn best(root: &Path, words: &[&str]) -> (Duration, u64) {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_aof"))
            .args(words)
            .current_dir(root)
            .stdout(Stdio::null())
            .spawn()
            .expect("aof runs");
        let mut memory = 0;
        loop {
            let status =
                fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let peak = status
                .lines()
                .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
            memory = peak.and_then(|text| text.trim().parse().ok()).unwrap_or(0).max(memory);
            if let Some(ended) = child.try_wait().expect("it can be waited for") {
                assert!(ended.success(), "aof {words:?}");
                return (start.elapsed(), memory / 1024);
            }
            thread::sleep(Duration::from_millis(1));
        }
    });
    rounds.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))).expect("there are rounds")
}

/// A history as `git fast-export` tells it.
struct Day {
    parts: Vec<Part>,
    /// The ids of its tasks.
    ids: Vec<String>,
    /// How many numbers it gives to objects.
    marks: usize,
}

enum Part {
    Blob { mark: usize, bytes: Vec<u8> },
    Commit { mark: usize, lines: Vec<String>, message: Vec<u8>, changes: Vec<String> },
}

/// Has the engine make the history of a few tasks.
fn day() -> Day {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    drop(project(folder.path(), AT_ONCE));
    let exported =
        Command::new("git").arg("-C").arg(folder.path()).args(["fast-export", "main"]).output();
    let text = exported.expect("git runs").stdout;
    let (mut parts, mut at, mut marks) = (Vec::new(), 0, 0);
    let mut ids: Vec<String> = Vec::new();
    while let Some(line) = line(&text, &mut at) {
        if line.is_empty() || line.starts_with("reset") {
            continue;
        }
        let mut mark = 0;
        let (mut lines, mut message, mut changes) = (Vec::new(), None, Vec::new());
        while let Some(line) = self::line(&text, &mut at).filter(|line| !line.is_empty()) {
            match line.split_once(' ') {
                Some(("mark", number)) => mark = number[1..].parse().expect("a number"),
                Some(("data", size)) => {
                    let size: usize = size.parse().expect("a number");
                    message = Some(text[at..at + size].to_vec());
                    at += size;
                    if text.get(at) == Some(&b'\n')
                        && message.as_ref().is_some_and(|_| lines.is_empty())
                    {
                        at += 1;
                        break;
                    }
                }
                Some(("from", _)) => {}
                Some(("M" | "D" | "R", _)) => changes.push(line.to_owned()),
                _ => lines.push(line.to_owned()),
            }
        }
        marks = marks.max(mark);
        let bytes = message.unwrap_or_default();
        match line {
            "blob" => parts.push(Part::Blob { mark, bytes }),
            _ if line.starts_with("commit") => {
                for change in &changes {
                    let name = change.rsplit('/').next().and_then(|name| name.strip_suffix(".md"));
                    ids.extend(
                        name.filter(|name| ids.iter().all(|id| id != name))
                            .map(str::to_owned)
                            .into_iter()
                            .collect::<Vec<_>>(),
                    );
                }
                parts.push(Part::Commit { mark, lines, message: bytes, changes });
            }
            _ => {}
        }
    }
    assert_eq!(ids.len(), AT_ONCE);
    Day { parts, ids, marks }
}

fn line<'t>(text: &'t [u8], at: &mut usize) -> Option<&'t str> {
    let rest = text.get(*at..).filter(|rest| !rest.is_empty())?;
    let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    *at += length + 1;
    str::from_utf8(&rest[..length]).ok()
}

/// Makes a repository with so many commits, at least; returns how many.
fn long_history(root: &Path, day: &Day, size: usize) -> usize {
    fs::create_dir_all(root).expect("a folder");
    git(root, &["init", "-q", "-b", "main"]);
    git(root, &["config", "gc.auto", "0"]);
    let mut import = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["fast-import", "--quiet", "--date-format=raw"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git runs");
    let mut out = BufWriter::new(import.stdin.take().expect("it is piped"));
    let own = day.parts.iter().filter(|part| matches!(part, Part::Commit { .. })).count() - 1;
    let days = size.div_ceil(own);
    let (mut last, mut commits) = (None, 0);
    for number in 0..days {
        let copy = Copy::of(day, number, days);
        let mark = |mark: usize| number * day.marks + mark;
        for (place, part) in day.parts.iter().enumerate() {
            match part {
                Part::Blob { mark: own, bytes } => {
                    let bytes = copy.of_text(bytes);
                    write!(out, "blob\nmark :{}\ndata {}\n", mark(*own), bytes.len())
                        .expect("git reads");
                    out.write_all(&bytes).expect("git reads");
                }
                // The rules come once.
                Part::Commit { .. }
                    if number > 0
                        && day.parts[..place]
                            .iter()
                            .all(|part| matches!(part, Part::Blob { .. })) => {}
                Part::Commit { mark: own, lines, message, changes } => {
                    writeln!(out, "commit refs/heads/main\nmark :{}", mark(*own))
                        .expect("git reads");
                    for line in lines {
                        writeln!(out, "{}", copy.of_person(line)).expect("git reads");
                    }
                    let message = copy.of_text(message);
                    writeln!(out, "data {}", message.len()).expect("git reads");
                    out.write_all(&message).expect("git reads");
                    if let Some(last) = last {
                        writeln!(out, "from :{last}").expect("git reads");
                    }
                    for change in changes {
                        writeln!(out, "{}", copy.of_change(change, &mark)).expect("git reads");
                    }
                    writeln!(out).expect("git reads");
                    (last, commits) = (Some(mark(*own)), commits + 1);
                }
            }
        }
    }
    drop(out);
    assert!(import.wait().expect("git ends").success());
    git(root, &["gc", "--quiet", "--prune=now"]);
    git(root, &["reset", "-q", "--hard"]);
    commits
}

/// The same history for other tasks, on another day.
struct Copy<'d> {
    ids: HashMap<&'d str, String>,
    later: i64,
}

impl<'d> Copy<'d> {
    fn of(day: &'d Day, number: usize, days: usize) -> Self {
        let ids = day.ids.iter().enumerate();
        let ids = ids.map(|(place, id)| (id.as_str(), id_of(number * AT_ONCE + place))).collect();
        let later =
            i64::try_from(number).expect("it is small") - i64::try_from(days).expect("it is small");
        Self { ids, later }
    }

    /// Ids and days have one length, so the text has.
    fn of_text(&self, text: &[u8]) -> Vec<u8> {
        let mut new = text.to_vec();
        for at in 0..new.len().saturating_sub(8) {
            if let Some(other) =
                str::from_utf8(&new[at..at + 9]).ok().and_then(|id| self.ids.get(id))
            {
                new[at..at + 9].copy_from_slice(other.as_bytes());
            }
            let date = new.get(at..at + 10).filter(|date| date[4] == b'-' && date[7] == b'-');
            let date = date.and_then(|date| str::from_utf8(date).ok()?.parse::<Date>().ok());
            if let Some(date) = date {
                new[at..at + 10].copy_from_slice(self.day_of(date).to_string().as_bytes());
            }
        }
        new
    }

    fn day_of(&self, date: Date) -> Date {
        date.checked_add(self.later.days()).expect("a day of this century")
    }

    fn of_person(&self, line: &str) -> String {
        let mut words: Vec<&str> = line.rsplitn(3, ' ').collect();
        let seconds: i64 = words[1].parse().expect("a time");
        let seconds = (seconds + self.later * 86_400).to_string();
        words[1] = &seconds;
        words.reverse();
        words.join(" ")
    }

    fn of_change(&self, change: &str, mark: &dyn Fn(usize) -> usize) -> String {
        let mut words: Vec<String> = change.split(' ').map(str::to_owned).collect();
        for word in words.iter_mut().skip(1) {
            if let Some(own) = word.strip_prefix(':') {
                *word = format!(":{}", mark(own.parse().expect("a number")));
            } else if let Some(name) =
                word.rsplit('/').next().and_then(|name| name.strip_suffix(".md"))
            {
                let other = &self.ids[name];
                *word = match word.strip_prefix("tasks/archive/") {
                    Some(rest) => {
                        let date: Date = rest[..10].replace('/', "-").parse().expect("a day");
                        format!(
                            "tasks/archive/{}/{other}.md",
                            self.day_of(date).strftime("%Y/%m/%d")
                        )
                    }
                    None => format!("tasks/{}/{other}.md", &other[4..6]),
                };
            }
        }
        words.join(" ")
    }
}

/// Returns ids that are spread over the folders as random ones are.
fn id_of(number: usize) -> String {
    let mixed = number * 23_456_789 % 36_usize.pow(5);
    let digit = |place: u32| {
        char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[mixed / 36_usize.pow(place) % 36])
    };
    format!("AOF-{}", [4, 3, 2, 1, 0].map(digit).iter().collect::<String>())
}
