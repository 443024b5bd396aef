//! Whatever a task file looks like: after a completion it says what the engine decided, and its body is what it was.

#![no_main]

use aof::domain::Timestamp;
use aof::files::completion_file;
use aof::files::completion_file::Syntax;
use aof::files::config::configuration::{Source, load};
use aof::files::task_file;
use aof::files::task_file::Defaults;
use aof::rules::{Act, Decision, Rules, decide};
use libfuzzer_sys::fuzz_target;

const PROJECT: &str = "workflow:
  gates:
    - {id: implement, role: backend}
    - {id: review, role: architect, canReject: true, when: \"tags.includes('auth') || gateHistory.length < 3\"}
    - {id: approve, role: backend, canReject: true}
";
const ORG: &str = "roles:\n  backend: {agents: [agent-7]}\n  architect: {agents: [agent-7]}\n";
const WORDS: [&str; 3] = ["complete", "needs_review", "blocked"];

thread_local! {
    static RULES: Rules = {
        let source = |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.as_bytes().to_vec() };
        let read = load(&[source("project.yaml", PROJECT), source("org.yaml", ORG)]).expect("sound files");
        Rules::new(read.project, read.org).expect("sound rules").0
    };
}

// The first byte says what is completed how.
fuzz_target!(|input: &[u8]| {
    let Some((word, bytes)) = input.split_first() else { return };
    let id = "AOF-abc".parse().expect("an id");
    let now: Timestamp = "2026-02-16T15:00:00Z".parse().expect("a time");
    let defaults = Defaults { workflow: "default".parse().expect("a workflow"), created: now };
    let Ok(file) = task_file::parse(bytes, &id, &defaults) else { return };
    let says = format!(
        "{{\"task\": \"AOF-abc\", \"agent\": \"agent-7\", \"outcome\": \"{}\", \"summary\": \"Did: it # so\",
        \"blockers\": [\"The page has no title at all\"]}}",
        WORDS[usize::from(*word) % WORDS.len()]
    );
    let own = "fuzz-1".parse().expect("an id");
    let completion =
        completion_file::parse(says.as_bytes(), Syntax::Json, &own).expect("it is one");
    RULES.with(|rules| {
        let act = Act::Complete(completion);
        let Ok(Decision::Step(step)) = decide(rules, &file.task, &act, now) else { return };
        assert_eq!(
            step.task.history.len(),
            file.task.history.len() + 1,
            "one completion, one entry"
        );
        assert!(step.task.history.starts_with(&file.task.history), "a history only grows");
        let Ok(changed) = file.update(&step.task) else { return };
        let after = task_file::read(&changed, &id, &defaults).expect("what aof writes can be read");
        assert_eq!(after.task, step.task, "it says what was decided");
        assert_eq!(after.body(), file.body(), "the body is a person's");
    });
});
