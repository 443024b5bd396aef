//! Which editor opens: the one that git would open.

use crate::support::environment::TestEnvironment;
use crate::support::terminal::Seat;

/// Edits a task at a terminal, and returns which of these editors did it.
fn opened(env: &TestEnvironment, id: &str, named: &[(&str, &str)]) -> String {
    let seat = Seat::with(env, &["task", "edit", id], |command| {
        command.env("TERM", "xterm");
        for (name, editor) in named {
            command.env(name, env.home().join(editor));
        }
    });
    let (status, screen) = seat.ends();
    assert!(status.success(), "{screen}");
    let text = env.task_text(id);
    text.lines().find_map(|line| line.strip_prefix("title: ")).unwrap().to_owned()
}

#[test]
fn the_editor_is_the_one_that_git_would_open() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    for editor in ["first", "second", "third", "fourth"] {
        let mut write = env.command("sh");
        let script = format!(
            "printf '#!/bin/sh\\nsed -i \"s/^title: .*/title: {editor}/\" \"$1\"\\n' > ../home/{editor}"
        );
        write.args(["-c", &format!("{script} && chmod +x ../home/{editor}")]);
        let _ = env.run(write).success();
    }
    assert_eq!(opened(&env, &id, &[("EDITOR", "fourth")]), "fourth");
    assert_eq!(opened(&env, &id, &[("EDITOR", "fourth"), ("VISUAL", "third")]), "third");
    env.git(&["config", "core.editor", &env.home().join("second").display().to_string()]);
    assert_eq!(opened(&env, &id, &[("EDITOR", "fourth"), ("VISUAL", "third")]), "second");
    assert_eq!(opened(&env, &id, &[("EDITOR", "fourth"), ("GIT_EDITOR", "first")]), "first");
}
