//! The words in which a program says why it waits.

use crate::support::scripted_agents::project_of;

const RULES: &str = "\
workflow:
  gates:
    - {id: merged, role: forge, timeout: 7d, run: {exit: {complete: 0, wait: 75}, every: 2m}}
";

#[test]
fn the_reason_why_a_program_waits_is_shown_without_secrets() {
    let script = "echo looking\ncat \"$HOME/reason\" >&2\nexit 75\n";
    let run = "env: {API_TOKEN: s3cret-and-long}";
    let env = project_of(RULES, &[("gh", "forge", run, script)]);
    let id = env.new_task(&["Land it"]);
    let reason = "one\ntwo\n\u{1b}[31mthree s3cret-and-long\n\nfour\n";
    std::fs::write(env.home().join("reason"), reason).unwrap();
    let said = env.aof(&["run", "--agent", "gh"]).to_string();
    let reason = "three [secret API_TOKEN] four";
    assert!(said.contains(&format!("yet: {reason}; its program looks again at")), "{said}");
    let why = || env.aof_aside(&["why", &id]).success().stdout;
    assert!(why().contains(&format!("- its program said: {reason}\n")), "{}", why());

    // The next look may say nothing.
    std::fs::write(env.home().join("reason"), "").unwrap();
    env.pass_minutes(2);
    let said = env.aof(&["run", "--agent", "gh"]).to_string();
    assert!(said.contains("it is not time yet; its program looks again at"), "{said}");
    assert!(!why().contains("its program said"), "{}", why());
}
