//! What agents find in their workspaces after a kill, and what is taken of it at the end.

use super::worktrees::{WRITES, project, two_gates};
use crate::support::scripted_agents::{said_at_home, shown, stand};

const FORK: &str = "{id: write, role: coders}, {id: check, type: fork, branches: [{id: law, role: laws, canReject: true}, {id: text, role: texts}]}";
const DONE: &str = "echo '{\"outcome\": \"complete\", \"summary\": \"ok\"}' > $AOF_OUTPUT";

#[test]
fn a_checkout_that_git_did_not_finish_is_made_again() {
    let env = two_gates("");
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["workspace", "path", &id]).success();
    let (folder, branch) = (format!(".aof/work/{id}"), format!("aof-work/{id}"));
    env.git(&["worktree", "remove", &folder]);
    let half = ["worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason"];
    env.git(&[&half[..], &["initializing", &folder, &branch]].concat());
    env.write(&format!("{folder}/code.txt"), "on");
    let _ = env.aof(&["run", "--all"]).success();
    assert_eq!(stand(&env, &id), "complete - -");
    assert_eq!(env.git(&["diff", "--name-only", "main", &branch]), "write.txt\n");
    // Of a task that is over, it goes.
    let other = env.new_task(&["Other"]);
    let _ = env.aof(&["workspace", "path", &other]).success();
    let folder = format!(".aof/work/{other}");
    env.git(&["worktree", "remove", &folder]);
    env.git(&[&half[..], &["initializing", &folder, &format!("aof-work/{other}")]].concat());
    let _ = env.aof(&["cancel", &other, "-m", "no"]).success();
    let pruned = env.aof(&["workspace", "prune", &other]).success();
    assert_eq!(pruned.stdout, "removed AOF-xxxxx\n");
    assert!(!env.exists(&folder));
}

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

#[test]
fn a_branch_that_a_fork_switches_to_is_no_obstacle() {
    let law = format!(
        "git switch -q -c try-$AOF_RUN; echo x > x.txt; git add x.txt; git commit -qm x; if test -e $HOME/once; then {DONE}; else touch $HOME/once; echo '{{\"outcome\": \"needs_review\", \"summary\": \"no\", \"blockers\": [\"no\"]}}' > $AOF_OUTPUT; fi"
    );
    let env = project("", FORK, &[("coder", WRITES), ("law", &law), ("text", DONE)]);
    let id = env.new_task(&["One"]);
    let ran = env.aof(&["run", "--all"]).success();
    assert_eq!(stand(&env, &id), "complete - -", "{ran}");
    assert!(!env.exists(&format!(".aof/work/{id}.law")));
    // The commits there are a branch's.
    assert_eq!(env.git(&["branch", "--list", "try-*"]).lines().count(), 2);
}

#[test]
fn a_second_attempt_at_a_fork_is_not_told_of_the_work_of_others() {
    let law = format!(
        "cat $AOF_PROMPT > $HOME/prompt; test -e $HOME/once && {DONE} && exit; touch $HOME/once; echo x > ${{PWD%.law}}/others.txt; exit 1"
    );
    let env = project("", FORK, &[("coder", WRITES), ("law", &law), ("text", DONE)]);
    let path = ".aof/branch/org.yaml";
    let again = env.read(path).replace("attempts: 1", "attempts: 2, retry: {delay: 1s}");
    env.write(path, again);
    env.git(&["-C", ".aof/branch", "commit", "--no-verify", "--quiet", "--all", "-m", "again"]);
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--all"]).success();
    assert!(env.exists(&format!(".aof/work/{id}/others.txt")));
    let prompt = said_at_home(&env, "prompt");
    assert!(prompt.contains("exit status 1") && !prompt.contains("others.txt"), "{prompt}");
}
