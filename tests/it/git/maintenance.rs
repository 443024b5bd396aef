//! Git's own maintenance follows a step, as it follows `git commit`: where git would act, detached, at most once a minute.

use std::fs;
use std::time::{Duration, SystemTime};

use sha1::{Digest, Sha1};

use crate::support::environment::{PROGRAM, TestEnvironment, eventually, executable};
use crate::support::watcher::{Watcher, drop_file};

/// A project in which git packs its objects soon.
fn scene() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.git(&["config", "--global", "maintenance.auto", "true"]);
    env.git(&["config", "--global", "gc.auto", "60"]);
    env
}

fn loose(env: &TestEnvironment) -> usize {
    let counted = env.git(&["count-objects"]);
    counted.split(' ').next().unwrap().parse().unwrap()
}

fn packs(env: &TestEnvironment) -> usize {
    env.files(".git/objects/pack")
        .iter()
        .filter(|file| file.split('.').next_back() == Some("pack"))
        .count()
}

/// Puts that many loose objects more into the folder that git looks at.
fn fill(env: &TestEnvironment, count: usize) {
    let before = env.files(".git/objects/17").len();
    let falls_there = |text: &String| {
        let blob = format!("blob {}\0{text}", text.len());
        Sha1::digest(blob.as_bytes())[0] == 0x17
    };
    let texts = (0..).map(|number: u32| format!("{number}\n")).filter(falls_there);
    for text in texts.skip(before).take(count) {
        env.write("object", text);
        env.git(&["hash-object", "-w", "object"]);
    }
}

/// Lets the minute pass after which git is asked again.
fn forget_start(env: &TestEnvironment) {
    let stamp = fs::File::open(env.path(".aof/maintenance")).unwrap();
    stamp.set_modified(SystemTime::now() - Duration::from_secs(61)).unwrap();
}

#[test]
fn a_step_lets_git_pack_as_after_a_commit() {
    let env = scene();
    let _ = env.new_task(&["Before"]);
    assert!(!env.exists(".aof/maintenance"), "nothing is due");
    fill(&env, 2);
    let _ = env.new_task(&["Due"]);
    eventually("a pack", || packs(&env) == 1);
    eventually("no loose objects", || loose(&env) < 10);
    // Not again within a minute, however much there is.
    let begun = fs::metadata(env.path(".aof/maintenance")).unwrap().modified().unwrap();
    fill(&env, 2);
    let _ = env.new_task(&["Too soon"]);
    assert_eq!(fs::metadata(env.path(".aof/maintenance")).unwrap().modified().unwrap(), begun);
    forget_start(&env);
    let _ = env.new_task(&["Later"]);
    assert!(fs::metadata(env.path(".aof/maintenance")).unwrap().modified().unwrap() > begun);
    env.git(&["fsck", "--strict"]);
}

#[test]
fn maintenance_is_not_started_when_git_would_skip_it() {
    for (name, value) in [("gc.auto", "0"), ("maintenance.auto", "false"), ("gc.auto", "1000")] {
        let env = scene();
        env.git(&["config", name, value]);
        fill(&env, 2);
        let _ = env.new_task(&["A"]);
        assert!(!env.exists(".aof/maintenance"), "{name} = {value}");
    }
    // Reading starts nothing.
    let env = scene();
    fill(&env, 2);
    for args in [&["list"][..], &["status"], &["new", "A", "--dry-run"]] {
        let _ = env.aof(args);
    }
    assert!(!env.exists(".aof/maintenance"));
}

#[test]
fn many_packs_become_one_by_a_step() {
    let env = scene();
    env.git(&["config", "gc.autoPackLimit", "1"]);
    for number in 0..2 {
        let _ = env.new_task(&[&format!("Task {number}")]);
        env.git(&["repack", "-dq"]);
    }
    assert_eq!(packs(&env), 2);
    let _ = env.new_task(&["Due"]);
    eventually("one pack", || packs(&env) == 1);
}

#[test]
fn a_caller_gets_its_streams_back_while_git_packs() {
    let env = scene();
    let bin = env.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\ncase $1 in maintenance) echo $$ > {}; exec sleep 600;; esac\nPATH={path} exec git \"$@\"\n",
        env.home().join("pid").display()
    );
    fs::write(bin.join("git"), script).unwrap();
    executable(&bin.join("git"));
    fill(&env, 2);
    // The shell's pipes end when nobody has them open: standard output, and one that is only inherited.
    let mut shell = env.command("sh");
    let line = format!("{{ {} new A; }} 3>&1 2>&1 | cat", *PROGRAM);
    shell.args(["-c", &line]).env("PATH", format!("{}:{path}", bin.display()));
    let output = env.run(shell).success();
    assert!(output.stdout.contains("AOF-xxxxx"), "{output}");
    eventually("maintenance runs", || {
        fs::read_to_string(env.home().join("pid")).is_ok_and(|pid| pid.ends_with('\n'))
    });
    let pid = fs::read_to_string(env.home().join("pid")).unwrap();
    let mut kill = env.command("sh");
    kill.args(["-c", &format!("kill {pid}")]);
    let _ = env.run(kill).success();
}

#[test]
fn the_watcher_has_git_pack_too() {
    let env = scene();
    let id = env.new_task(&["A"]);
    fill(&env, 2);
    let watcher = Watcher::start(&env);
    let completion = format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: x\n");
    drop_file(&env, "c.yaml", completion);
    eventually("a pack", || packs(&env) == 1);
    watcher.stop("-TERM");
    env.git(&["fsck", "--strict"]);
}
