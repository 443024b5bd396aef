//! `aof init`

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::arguments::{Rehearsal, template};
use super::output::{BOLD, CYAN, styled};
use super::session::{Session, now};
use super::trouble::Trouble;
use crate::format::plain::inert;
use crate::format::template::Template;
use crate::ops::{Begun, DryRun, NewProject, init, task_value};
use crate::store::ProjectPath;

/// Begin a project: rules, roles and a first task, in one commit
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof init                           here, in an empty folder or a git repository
  aof init garden --template sdlc    in a folder of its own, with the gates of a software project
  aof init --dry-run                 see what would be written")]
pub(super) struct Args {
    /// The project's folder; it is made if it is missing
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    folder: PathBuf,
    /// The process to begin with
    #[arg(long, value_name = "NAME", default_value = "basic", value_parser = template())]
    template: Template,
    /// What the project is called; without it, as its folder
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let here = &session.directory;
    let here = here.canonicalize().map_err(|cause| Trouble::Directory { path: here.clone(), cause })?;
    let folder = here.join(&args.folder).components().collect();
    let new = NewProject { folder, template: args.template, name: args.name.clone() };
    let mode = args.rehearsal.mode();
    let begun = init(&new, now(), &|root| session.new_workspace(root), mode)?;
    if session.output.is_json() {
        session.output.data(value(args, &begun, mode));
    } else {
        show(session, args, &begun, mode);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(session: &Session, args: &Args, begun: &Begun, mode: DryRun) {
    let output = session.output;
    let task = &begun.first.after.task;
    let verb = if mode == DryRun::Yes { "would begin" } else { "began" };
    let repository = if begun.new_repository { ", in a new git repository" } else { "" };
    let commit = begun.first.commit.map(|id| format!(", commit {:.7}", id.to_string())).unwrap_or_default();
    output.line(inert(&format!("{verb} `{}` in {}{repository}{commit}", begun.name, begun.root.display())));
    for (path, what) in [
        ("project.yaml".to_owned(), "the gates that every task goes through"),
        ("org.yaml".to_owned(), "who works at them"),
        (begun.first.path.to_string(), "a first task, which explains itself"),
        (".aof/".to_owned(), "local, never committed: the inbox, the lock, schemas for editors"),
    ] {
        output.line(format!("  {}  {what}", styled(CYAN, format!("{path:<18}"))));
    }
    if mode == DryRun::Yes {
        output.line("dry run: nothing was written");
        return;
    }
    output.line(format!("\n{}", styled(BOLD, "try next:")));
    if args.folder.as_os_str() != "." {
        output.line(format!("  cd {}", inert(&shell_word(&args.folder.display().to_string()))));
    }
    for (command, what) in [
        (format!("aof task show {}", task.id), "read the first task, and take it through"),
        ("aof workflow show".to_owned(), "see the way that a task goes"),
        ("aof task new \"Add login\"".to_owned(), "create a task of your own"),
    ] {
        output.line(format!("  {command:<26}  {what}"));
    }
}

/// Returns the text as one word of a shell's command line.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | '@' | '%' | ':');
    if text.chars().all(plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    let before = if text.starts_with('-') { "-- " } else { "" };
    format!("{before}'{}'", text.replace('\'', "'\\''"))
}

fn value(args: &Args, begun: &Begun, mode: DryRun) -> serde_json::Value {
    let committed: Vec<&str> = begun.committed.iter().map(ProjectPath::as_str).collect();
    let mut value = json!({
        "project": begun.name,
        "root": begun.root.display().to_string(),
        "template": args.template.as_str(),
        "newRepository": begun.new_repository,
        "branch": begun.branch,
        "commit": begun.first.commit.map(|commit| commit.to_string()),
        "committed": committed,
        "task": task_value(&begun.rules, &begun.first.after, &begun.first.path),
    });
    if mode == DryRun::Yes {
        value["dryRun"] = json!(true);
    }
    value
}
