//! What agents find in their workspaces after a kill, and what is taken of it at the end.

use super::worktrees::{project, two_gates};
use crate::support::scripted_agents::{shown, stand};

const DONE: &str = "echo '{\"outcome\": \"complete\", \"summary\": \"ok\"}' > $AOF_OUTPUT";

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf_8_is_like_others() {
    let script =
        |size: &str| format!("head -c {size} /dev/zero > \"$(printf 'one\\377.bin')\"; {DONE}");
    let env = project("", "{id: write, role: coders}", &[("coder", &script("11000000"))]);
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--all"]).code(1);
    let summary = shown(&env, &id)["gateHistory"][0]["summary"].to_string();
    assert!(summary.contains("is larger than 10 MiB"), "{summary}");
    let env = project("", "{id: write, role: coders}", &[("coder", &script("9"))]);
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--all"]).success();
    let changed = env.git(&["diff", "--name-only", "main", &format!("aof-work/{id}")]);
    assert_eq!(changed, "\"one\\377.bin\"\n");
}

/// More than fit on a command line.
#[test]
fn many_files_of_set_up_hold_no_verdict_up() {
    let make = "d=$(printf %0200d/%0200d/%0200d/%0200d 1 2 3 4); mkdir -p $d; for i in $(seq 2700); do : > $d/$(printf %0150d $i); done";
    let env = two_gates(&format!("workspaces: {{setup: [[sh, -c, '{make}']]}}"));
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--all"]).success();
    assert_eq!(stand(&env, &id), "complete - -");
    let changed = env.git(&["diff", "--name-only", "main", &format!("aof-work/{id}")]);
    assert_eq!(changed, "write.txt\n");
}
