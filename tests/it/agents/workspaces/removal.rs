//! The removal of workspaces: whatever comes in between, and whatever a person, a set-up or a killed process left there.

use super::worktrees::project;
use crate::support::scripted_agents::stand;

/// A clean-up that fails is no reason to give up what is done, or other tasks.
#[test]
fn a_failed_removal_ends_no_run() {
    let env = project(
        "",
        "{id: write, role: coders}",
        &[(
            "coder",
            "touch ../../../.git/packed-refs.lock; echo '{\"outcome\": \"complete\", \"summary\": \"ok\"}' > $AOF_OUTPUT",
        )],
    );
    let (one, two) = (env.new_task(&["One"]), env.new_task(&["Two"]));
    env.git(&["pack-refs", "--all"]);
    let ran = env.aof(&["run", "--all"]).success();
    assert!(format!("{ran}").contains("packed-refs.lock"), "{ran}");
    for id in [one, two] {
        assert_eq!(stand(&env, &id), "complete - -", "{ran}");
    }
}
