//! `aof init`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::{agent_files, monitoring_files};
use crate::cli::error::CliError;
use crate::cli::input::arguments::{Rehearsal, template};
use crate::cli::render::output::{BOLD, CYAN, styled};
use crate::cli::session::{Session, now};
use crate::domain::BranchName;
use crate::files::printable::inert;
use crate::history::merge_driver::attributes::ATTRIBUTES;
use crate::history::merge_driver::hooks::HOOK_LINE;
use crate::project::branch::init_on_branch;
use crate::setup::agent_wiring::{Wired, agents_to_wire, wire_agents};
use crate::setup::init::{Begun, NewProject, init};
use crate::setup::monitoring::{Monitored, add_monitoring, monitoring_to_add};
use crate::setup::template::template::Template;
use crate::storage::layout::{BRANCH, INBOX};
use crate::storage::{Paths, ProjectPath};
use crate::tasks::apply::change::DryRun;
use crate::tasks::view::task_view::task_value;

/// Begin a project: rules, roles and a first task, in one commit
#[derive(Debug, clap::Args)]
#[command(after_help = "\
In `.git`, where no commit holds it, two things are set up, so that git merges tasks by their meaning and loses none of their history: the
merge driver `merge.aof` in its configuration, and the hooks `pre-commit` and `pre-merge-commit`, unless there are some already. Out
they go again with `git config --remove-section merge.aof`, and by deleting the hooks.

Examples:
  aof init                           here, in an empty folder or a git repository
  aof init garden --template sdlc    in a folder of its own, with the gates of a software project
  aof init --agents                  tell coding agents of the project, new or not: AGENTS.md and MCP
  aof init --observability           alerts, a dashboard and a runbook, in a project new or not
  aof init --dry-run                 see what would be written")]
pub(crate) struct Args {
    /// The project's folder; it is made if it is missing
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    folder: PathBuf,
    /// The process to begin with; without it, `basic`
    #[arg(long, value_name = "NAME", value_parser = template())]
    template: Option<Template>,
    /// What the project is called; without it, as its folder
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Keep the project, its tasks and all their commits on this branch of its own, in an existing repository: the branch that is
    /// checked out gets one commit, which says so
    #[arg(long, value_name = "NAME")]
    branch: Option<BranchName>,
    /// Tell coding agents how to work on tasks: a block in AGENTS.md, a line in CLAUDE.md, and the MCP server in the project's
    /// configuration for Claude Code, Codex, Gemini CLI and OpenCode; in a project that there is already, only that. What others
    /// wrote in these files stays, and a second run changes nothing. Who an agent is, its own environment says: `AOF_AGENT`
    #[arg(long)]
    agents: bool,
    /// Add what makes something of the metrics: `monitoring/` with alerts for Prometheus, a dashboard for Grafana, and a runbook; in a
    /// project that there is already, only that. What is there stays as it is
    #[arg(long)]
    observability: bool,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let here = &session.directory;
    let here =
        here.canonicalize().map_err(|cause| CliError::Directory { path: here.clone(), cause })?;
    let folder: PathBuf = here.join(&args.folder).components().collect();
    let mode = args.rehearsal.mode();
    let begins = args.template.is_some() || args.name.is_some() || args.branch.is_some();
    if (args.agents || args.observability)
        && !begins
        && let Some(root) = project_around(&folder)
    {
        return add(session, args, &root, mode);
    }
    let template = args.template.unwrap_or(Template::Basic);
    let new = NewProject { folder, template, name: args.name.clone(), branch: None };
    let open = |root: &Path| session.new_workspace(root);
    let begun = match &args.branch {
        Some(branch) => {
            init_on_branch(&new, branch, now(), &open, &session.patience("init"), mode)?
        }
        None => init(&new, now(), &open, mode)?,
    };
    let wired = match (args.agents, mode) {
        (false, _) => None,
        (true, DryRun::Yes) => Some(agents_to_wire(&new.folder)?),
        (true, DryRun::No) => Some(wire_agents(&session.new_workspace(&begun.root)?, mode)?),
    };
    let monitored = match (args.observability, mode) {
        (false, _) => None,
        (true, DryRun::Yes) => Some(monitoring_to_add(&new.folder)?),
        (true, DryRun::No) => Some(add_monitoring(&session.new_workspace(&begun.root)?, mode)?),
    };
    let added = Added { wired, monitored };
    if session.output.is_json() {
        let mut value = value(template, &begun, mode);
        added.put(&mut value);
        session.output.data(value);
    } else {
        show(session, args, &begun, &added, mode);
    }
    Ok(added.exit_code())
}

/// What was brought into the project besides the rules.
struct Added {
    wired: Option<Wired>,
    monitored: Option<Monitored>,
}

impl Added {
    fn put(&self, value: &mut Value) {
        if let Some(wired) = &self.wired {
            value["agents"] = agent_files::value(wired);
        }
        if let Some(monitored) = &self.monitored {
            value["observability"] = monitoring_files::value(monitored);
        }
    }

    fn exit_code(&self) -> ExitCode {
        self.wired.as_ref().map_or(ExitCode::SUCCESS, agent_files::exit_code)
    }
}

/// Returns the project that the folder lies in.
fn project_around(folder: &Path) -> Option<PathBuf> {
    let paths = Paths::find(folder.is_dir().then_some(folder)?).ok()?;
    Some(paths.root().to_owned())
}

/// Adds to a project that there is.
fn add(session: &Session, args: &Args, root: &Path, mode: DryRun) -> Result<ExitCode, CliError> {
    let workspace = || session.new_workspace(root);
    let wired = args.agents.then(|| wire_agents(&workspace()?, mode)).transpose()?;
    let monitored = args.observability.then(|| add_monitoring(&workspace()?, mode)).transpose()?;
    let added = Added { wired, monitored };
    if session.output.is_json() {
        let mut value = json!({"root": root.display().to_string()});
        added.put(&mut value);
        if mode == DryRun::Yes {
            value["dryRun"] = json!(true);
        }
        session.output.data(value);
    } else {
        if let Some(wired) = &added.wired {
            agent_files::show(session, wired, mode);
        }
        if let Some(monitored) = &added.monitored {
            monitoring_files::show(session, monitored, mode);
        }
        if mode == DryRun::Yes {
            session.output.line("dry run: nothing was written");
        }
    }
    Ok(added.exit_code())
}

fn show(session: &Session, args: &Args, begun: &Begun, added: &Added, mode: DryRun) {
    let output = session.output;
    let task = &begun.first.after.task;
    let verb = if mode == DryRun::Yes { "would begin" } else { "began" };
    let repository = if begun.new_repository { ", in a new git repository" } else { "" };
    let commit =
        begun.first.commit.map(|id| format!(", commit {:.7}", id.to_string())).unwrap_or_default();
    output.line(inert(&format!(
        "{verb} `{}` in {}{repository}{commit}",
        begun.name,
        begun.root.display()
    )));
    let attributes = begun.committed.iter().find(|path| path.as_str() == ATTRIBUTES);
    let attributes =
        attributes.map(|path| (path.to_string(), "has git merge tasks by their meaning"));
    let written = [
        ("project.yaml".to_owned(), "the gates that every task goes through"),
        ("org.yaml".to_owned(), "who works at them"),
        (begun.first.path.to_string(), "a first task, which explains itself"),
        match begun.checkout {
            Some(_) => (
                format!("{BRANCH}/{INBOX}/"),
                "local, never committed: completion files are dropped there",
            ),
            None => (
                ".aof/".to_owned(),
                "local, never committed: the inbox, the lock, schemas for editors",
            ),
        },
    ];
    let (committed, local) = written.split_at(3);
    for (path, what) in committed.iter().chain(&attributes).chain(local) {
        output.line(format!("  {}  {what}", styled(CYAN, format!("{path:<18}"))));
    }
    if let Some(told) = &begun.checkout {
        let commit =
            told.commit.map(|id| format!(", commit {:.7}", id.to_string())).unwrap_or_default();
        let branch = inert(&told.branch);
        for path in &told.committed {
            output.line(format!(
                "  {}  on your branch `{branch}`{commit}: says which branch the project is on",
                styled(CYAN, format!("{:<18}", path.as_str()))
            ));
        }
    }
    show_set_up(session, args, begun);
    if let Some(wired) = &added.wired {
        output.line("");
        agent_files::show(session, wired, mode);
    }
    if let Some(monitored) = &added.monitored {
        output.line("");
        monitoring_files::show(session, monitored, mode);
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

/// Says what git is told besides, and what it is not.
fn show_set_up(session: &Session, args: &Args, begun: &Begun) {
    let output = session.output;
    if begun.attributes_held {
        output.line(format!(
            "  {}  is left alone, since it has changes that are not committed: git merges tasks as text until these \
             are, and `aof doctor --fix` has added a line to it",
            styled(CYAN, format!("{ATTRIBUTES:<18}"))
        ));
    }
    let driver = if begun.attributes_held {
        "knows how; `git config --remove-section merge.aof` takes that out"
    } else {
        "merges tasks by their meaning; `git config --remove-section merge.aof` takes that out"
    };
    let hook = "refuses commits that take entries out of a task's history; delete it to go without";
    let hooks = begun.set_up.hooks.iter().map(|path| (path, hook));
    for (path, what) in begun.set_up.driver.iter().map(|path| (path, driver)).chain(hooks) {
        let path = in_git(path, &session.directory.join(&args.folder));
        output.line(format!("  {}  {what}", styled(CYAN, inert(&format!("{path:<18}")))));
    }
    for path in &begun.set_up.foreign {
        let what = if path.exists() {
            "is yours, and stays as it is"
        } else {
            "is where git looks for hooks here, and is not made"
        };
        let path = in_git(path, &session.directory.join(&args.folder));
        output.line(format!(
            "  {}  {what}; with the line `{HOOK_LINE}` it keeps the history of tasks whole (`aof doctor` tells more)",
            styled(CYAN, inert(&format!("{path:<18}"))),
        ));
    }
}

/// Returns the path from `.git` on, where that is the folder which people see around this one; a linked worktree has a file of that name,
/// and the folder is elsewhere.
fn in_git(path: &Path, folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    // A new project has none before it is begun.
    let around = folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&folder);
    let rest = path.strip_prefix(around).ok().filter(|rest| rest.starts_with(".git"));
    rest.unwrap_or(path).display().to_string()
}

/// Returns the text as one word of a shell's command line.
fn shell_word(text: &str) -> String {
    let plain = |c: char| {
        c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | '@' | '%' | ':')
    };
    if text.chars().all(plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    let before = if text.starts_with('-') { "-- " } else { "" };
    format!("{before}'{}'", text.replace('\'', "'\\''"))
}

fn value(template: Template, begun: &Begun, mode: DryRun) -> Value {
    let committed: Vec<&str> = begun.committed.iter().map(ProjectPath::as_str).collect();
    let mut value = json!({
        "project": begun.name,
        "root": begun.root.display().to_string(),
        "template": template.as_str(),
        "newRepository": begun.new_repository,
        "branch": begun.branch,
        "commit": begun.first.commit.map(|commit| commit.to_string()),
        "committed": committed,
        "setUp": {"mergeDriver": begun.set_up.driver, "hook": begun.set_up.hooks.first(),
            "attributesHeld": begun.attributes_held,
            "foreignHook": begun.set_up.foreign.first()},
        "task": task_value(&begun.rules, &begun.first.after, &begun.first.path),
    });
    if let Some(told) = &begun.checkout {
        value["checkout"] = json!({
            "root": told.root.display().to_string(),
            "branch": told.branch,
            "commit": told.commit.map(|commit| commit.to_string()),
            "committed": told.committed.iter().map(ProjectPath::as_str).collect::<Vec<_>>(),
        });
    }
    if mode == DryRun::Yes {
        value["dryRun"] = json!(true);
    }
    value
}
