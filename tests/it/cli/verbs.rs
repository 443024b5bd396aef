//! The short form of the commands for tasks.

use crate::support::environment::TestEnvironment;

#[test]
fn a_task_goes_its_way_in_short_words() {
    let env = TestEnvironment::new();
    let id = &env.new_task(&["Add login"]);
    let next = env.aof(&["next", "--agent", "agent-7"]).success();
    assert!(next.stdout.contains("ticket AOF-xxxxx@0"), "{next}");
    let _ = env.aof(&["comment", id, "Begun"]).success();
    let _ = env.aof(&["release", id, "--agent", "agent-7"]).success();
    for (gate, agent) in [("implement", "agent-7"), ("review", "agent-3")] {
        let listed = env.aof(&["ls", "--gate", gate]).success();
        assert!(listed.stdout.contains("Add login"), "{listed}");
        let done = &["complete", id, "--agent", agent, "-o", "complete", "-s", "Works"];
        let _ = env.aof(done).success();
    }
    let short = env.aof(&["log", id]).success();
    assert!(short.stdout.contains("implement"), "{short}");
    assert_eq!(short.stdout, env.aof(&["task", "history", id]).success().stdout);
    assert_eq!(env.aof(&["show", id]).stdout, env.aof(&["task", "show", id]).stdout);
}

#[test]
fn printed_short_commands_name_the_agent() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let refused = env.aof(&["complete", &id, "--agent", "agent-7", "-s", "x", "-o", "nonsense"]);
    let refused = refused.code(4);
    assert!(refused.stderr.contains("@0 --agent agent-7 --outcome complete"), "{refused}");
}
