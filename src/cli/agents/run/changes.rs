//! What changed since a task was made, task files aside, as git shows it.

use std::io::IsTerminal;
use std::path::Path;
use std::process::Command;

use crate::cli::output::{BOLD, DIM, Output, styled};
use crate::files::printable::{inert, one_line};
use crate::storage::ProjectPath;

/// Everything of the project but its tasks.
const ALL: [&str; 3] = ["--", ".", ":(exclude)tasks"];

/// What the changes are counted from.
struct Base {
    revision: String,
    said: &'static str,
}

/// Shows the changes of files that git knows, and the names of those that it does not.
pub(crate) fn show(output: Output, project: &Path, task: &ProjectPath) {
    let git = Git { project };
    let base = git.base(task);
    output.say(styled(DIM, format!("changes since {}, {}:", base.revision, base.said)));
    let words = |more: &[&'static str]| [&["diff"], more, &[base.revision.as_str()], &ALL].concat();
    let shown = if git.is_paged() {
        git.show(&words(&[]))
    } else {
        git.text(&words(&["--no-color", "--no-ext-diff"]))
            .map(|text| output.say(inert(text.trim_end())))
    };
    let others = [&["ls-files", "--others", "--exclude-standard", "-z"][..], &ALL].concat();
    let others = shown.and_then(|()| git.text(&others));
    match others {
        Ok(names) if names.is_empty() => {}
        Ok(names) => {
            output.say(styled(BOLD, "new files that git does not know yet, not shown above:"));
            for name in names.split_terminator('\0') {
                output.say(format!("  {}", one_line(name)));
            }
        }
        Err(why) => output.say(inert(&why)),
    }
}

struct Git<'p> {
    project: &'p Path,
}

impl Git<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.project).args(words);
        command
    }

    /// Returns what it prints.
    fn text(&self, words: &[&str]) -> Result<String, String> {
        let output = self
            .command(words)
            .output()
            .map_err(|cause| format!("`git` cannot be started: {cause}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("`git {}` ended with {}: {}", words[0], output.status, said.trim()))
    }

    /// Lets it show what it has to show, in its pager.
    fn show(&self, words: &[&str]) -> Result<(), String> {
        let status = self
            .command(words)
            .status()
            .map_err(|cause| format!("`git` cannot be started: {cause}"))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("`git {}` ended with {status}", words[0]))
        }
    }

    /// Tells whether a pager stands between what it shows and the terminal. Without one nothing makes a text of others inert.
    fn is_paged(&self) -> bool {
        let pager = || {
            self.text(&["var", "GIT_PAGER"]).is_ok_and(|pager| !matches!(pager.trim(), "" | "cat"))
        };
        std::io::stdout().is_terminal() && pager()
    }

    /// Returns what was before the commit that added the task's file; as it stands, where that cannot be told.
    fn base(&self, task: &ProjectPath) -> Base {
        let one = |words: &[&str]| {
            self.text(words).ok().and_then(|text| text.lines().last().map(str::to_owned))
        };
        let added = one(&["log", "--diff-filter=A", "--format=%h", "--", task.as_str()]);
        let Some(added) = added else {
            return Base { revision: "HEAD".to_owned(), said: "as no commit added the task" };
        };
        match one(&["rev-parse", "--verify", "--quiet", "--short", &format!("{added}^")]) {
            Some(revision) => Base { revision, said: "the commit before the task was made" },
            None => Base { revision: added, said: "the commit that made the task" },
        }
    }
}
