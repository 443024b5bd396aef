//! `aof init`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::{
    CliResult, DryRunOption, Output, Session, bold, cyan, now, of_commit, short, template, yellow,
};
use crate::domain::{AgentId, BranchName};
use crate::files::printable::inert;
use crate::git::CommitId;
use crate::history::merge_driver::{ATTRIBUTES, HOOK_LINE};
use crate::project::git_hints::GitCommands;
use crate::project::open::follow_branch;
use crate::project::workspace::{Workspace, warn_in_log};
use crate::rules::Rules;
use crate::setup::agent_files::AgentFile;
use crate::setup::agent_wiring::{WiredAgents, WiredFile, Wiring, agents_to_wire, wire_agents};
use crate::setup::init::init_on_branch;
use crate::setup::init::{CreatedProject, NewProject, init, is_unfinished, repository_around};
use crate::setup::monitoring::{
    MonitoringFate, MonitoringFile, MonitoringReport, add_monitoring, monitoring_to_add,
};
use crate::setup::remove::remove;
use crate::setup::template::Template;
use crate::storage::layout::{BRANCH, INBOX};
use crate::storage::{Paths, ProjectPath};
use crate::system::terminal::{all_quoted, quoted};
use crate::tasks::plan::DryRun;
use crate::tasks::view::task_view::task_value;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
In `.git`, where no commit holds it, two things are set up, so that git merges tasks by their meaning and loses none of their \
history: the merge driver `merge.aof` in its configuration, and the hooks `pre-commit` and `pre-merge-commit`, unless there are \
some already. `aof init --remove` takes them out again.

Examples:
  aof init                           here, in an empty folder or a git repository
  aof init garden --template sdlc    in a folder of its own, with the gates of a software project
  aof init --agents                  connect coding agents to a project, new or not
  aof init --observability           alerts, a dashboard and a runbook, in a project new or not
  aof init --dry-run                 see what would be written")]
pub(crate) struct InitArgs {
    /// The project's folder; it is made if it is missing
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    folder: PathBuf,
    /// The process to begin with; without it, `basic`
    #[arg(long, value_name = "NAME", value_parser = template())]
    template: Option<Template>,
    /// The name of the project; without it, that of its folder
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Keep the project, its tasks and all their commits on this branch of its own, in an existing repository. The checked-out
    /// branch gets one commit, which says so
    #[arg(long, value_name = "NAME")]
    branch: Option<BranchName>,
    /// Tell coding agents how to work on tasks: a block in AGENTS.md, a line in CLAUDE.md, and the MCP server in the project's
    /// configuration for Claude Code, Codex, Gemini CLI, OpenCode, VS Code and Cursor. In an existing project it does only that.
    /// What others wrote in these files stays, and a second run changes nothing. They name the first agent of org.yaml that is
    /// no person; `AOF_AGENT` in a client's environment names another
    #[arg(long)]
    agents: bool,
    /// Add `monitoring/` with alerts for Prometheus, a dashboard for Grafana, and a runbook. In an existing project it does only
    /// that. Existing files stay as they are
    #[arg(long)]
    observability: bool,
    /// Take out again what was set up beside tasks and rules: the merge driver, its hooks, the line in `.gitattributes`, and what
    /// `--agents` wrote. The project itself stays, and the changed files are for you to commit
    #[arg(long, conflicts_with_all = ["template", "name", "branch", "agents", "observability"])]
    remove: bool,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run(session: &Session, args: &InitArgs) -> CliResult {
    if args.remove {
        return take_out(session, args);
    }
    let folder: PathBuf = session.enter()?.join(&args.folder).components().collect();
    let mode = args.dry_run_option.mode();
    let is_new_project = args.template.is_some() || args.name.is_some() || args.branch.is_some();
    if (args.agents || args.observability)
        && !is_new_project
        && folder.is_dir()
        && let Ok(existing) = Paths::find(&folder)
        && !is_left_unfinished(session, &folder, existing.root())?
    {
        return add(session, args, existing.root(), mode);
    }
    let template = args.template.unwrap_or(Template::Basic);
    let new = NewProject { folder, template, name: args.name.clone(), branch: None };
    let open = |root: &Path| session.new_workspace(root);
    let code = if args.branch.is_none() { code(&new.folder)? } else { None };
    let asks = code.is_some() && Session::at_terminal() && !session.output.is_json();
    let branch = if asks && mode == DryRun::No && session.confirm(BRANCH_QUESTION)? {
        Some(BRANCH_NAME.parse().expect("a valid name"))
    } else {
        args.branch.clone()
    };
    let created = match &branch {
        Some(branch) => {
            init_on_branch(&new, branch, now(), &open, &session.checkout_wait("init"), mode)?
        }
        None => init(&new, now(), &open, mode)?,
    };
    let added = if mode == DryRun::Yes {
        Added {
            agents: args
                .agents
                .then(|| agents_to_wire(&new.folder, first(&created.rules)))
                .transpose()?,
            monitoring: args.observability.then(|| monitoring_to_add(&new.folder)).transpose()?,
        }
    } else {
        // Agents work where the code is.
        let root = created.checkout.as_ref().map_or(&created.root, |checkout| &checkout.root);
        added(session, args, root, first(&created.rules), mode)?
    };
    if session.output.is_json() {
        let mut value = value(template, &created);
        added.put(&mut value);
        session.output.change_data(value, mode);
    } else {
        show(session, args, &created, &added, mode);
        if let Some(code) = code.filter(|_| !asks && mode == DryRun::No) {
            session.output.line(format!(
                "\nEach branch has its own tasks. To share them among all branches and worktrees, before you create some: `git reset \
                 --keep {}`, then this command again with `--branch {BRANCH_NAME}`",
                short(code)
            ));
        }
    }
    Ok(added.exit_code())
}

/// Returns true if a killed `aof init` has left no more than `.aof/` in exactly this folder.
fn is_left_unfinished(session: &Session, folder: &Path, root: &Path) -> CliResult<bool> {
    let is_here = std::fs::canonicalize(folder).is_ok_and(|folder| folder == root);
    Ok(is_here && is_unfinished(&session.new_workspace(root)?)?)
}

fn take_out(session: &Session, args: &InitArgs) -> CliResult {
    let here = session.enter()?;
    let root = Paths::find(&here.join(&args.folder))?.root().to_owned();
    let mode = args.dry_run_option.mode();
    let workspace = session.new_workspace(&root)?;
    let removal = remove(&workspace, mode)?;
    let wait = session.checkout_wait("init");
    let branch = follow_branch(&root, &workspace.repository, &wait)?.map(|branch| branch.root);
    let output = session.output;
    let of_branch = match &branch {
        Some(folder) => remove(&session.new_workspace(folder)?, mode)?.files,
        None => Vec::new(),
    };
    if output.is_json() {
        let mut value = json!(removal);
        if let Some(folder) = &branch {
            value["checkout"] = json!({"root": folder.display().to_string(), "files": of_branch});
        }
        output.change_data(value, mode);
        return Ok(ExitCode::SUCCESS);
    }
    let removed = if mode == DryRun::Yes { "would be removed" } else { "removed" };
    if removal.driver {
        output.line(format!("{removed}: the merge driver `merge.aof` in git's configuration"));
    }
    for hook in &removal.hooks {
        output.line(format!("{removed}: {}", inert(&hook.display().to_string())));
    }
    for file in &removal.files {
        output.line(format!("{removed}: what `aof` wrote into {}", inert(file.as_str())));
    }
    for file in &of_branch {
        let file = inert(file.as_str());
        output.line(format!("{removed}: what `aof` wrote into {file}, on the project's branch"));
    }
    for kept in &removal.kept {
        output.line(format!("kept: {}: {}", inert(&kept.path), inert(&kept.why)));
    }
    if removal.is_empty() && of_branch.is_empty() {
        output.line("nothing to remove");
    }
    let on_branch = branch.map_or_else(GitCommands::default, |folder| {
        GitCommands::in_folder(folder.strip_prefix(&here).unwrap_or(&folder))
    });
    for (files, commands) in [(&removal.files, GitCommands::default()), (&of_branch, on_branch)] {
        if mode == DryRun::No && !files.is_empty() {
            let files = all_quoted(files.iter().map(ProjectPath::as_str));
            let commit = format!("`git add {files} && git commit -m \"Remove aof\" -- {files}`");
            output.line(commands.with_folder(format!("commit it with {commit}")));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The branch that is offered for tasks if there is code.
const BRANCH_NAME: &str = "aof";

const BRANCH_QUESTION: &str = "There is code here. Keep tasks on a branch of their own, `aof`, so that all branches and worktrees \
                               share them? [y/N] ";

/// Returns the last commit of the repository around the folder, in which tasks would share a branch with code.
fn code(folder: &Path) -> CliResult<Option<CommitId>> {
    let repository = repository_around(folder)?.filter(|_| folder.is_dir());
    Ok(repository.and_then(|repository| repository.head().ok()?.commit))
}

/// Adds files for agents or for monitoring to an existing project.
fn add(session: &Session, args: &InitArgs, root: &Path, mode: DryRun) -> CliResult {
    let open = Workspace::open(root, "aof init".to_owned(), now, session.wait, warn_in_log);
    let in_force = open.and_then(|workspace| workspace.rules()).ok();
    let agent = in_force.as_ref().and_then(|in_force| first(&in_force.rules));
    let added = added(session, args, root, agent, mode)?;
    if session.output.is_json() {
        let mut value = json!({"root": root.display().to_string()});
        added.put(&mut value);
        session.output.change_data(value, mode);
    } else {
        added.show(session, mode, "");
        if mode == DryRun::Yes {
            session.output.line("dry run: nothing was written");
        }
    }
    Ok(added.exit_code())
}

/// Returns the agent that the files for clients name.
fn first(rules: &Rules) -> Option<&AgentId> {
    rules.org.first_program()
}

fn added(
    session: &Session,
    args: &InitArgs,
    root: &Path,
    agent: Option<&AgentId>,
    mode: DryRun,
) -> CliResult<Added> {
    let workspace = || session.new_workspace(root);
    Ok(Added {
        agents: args.agents.then(|| wire_agents(&workspace()?, agent, mode)).transpose()?,
        monitoring: args.observability.then(|| add_monitoring(&workspace()?, mode)).transpose()?,
    })
}

fn show(session: &Session, args: &InitArgs, created: &CreatedProject, added: &Added, mode: DryRun) {
    let output = session.output;
    let verb = if mode == DryRun::Yes { "would begin" } else { "began" };
    let repository = if created.new_repository { ", in a new git repository" } else { "" };
    let (name, root, commit) =
        (&created.name, created.root.display(), of_commit(created.first.commit));
    output.line(inert(&format!("{verb} `{name}` in {root}{repository}{commit}")));
    item(output, "project.yaml", "the gates that every task goes through");
    item(output, "org.yaml", "who works at them");
    item(output, created.first.path.as_str(), "a first task, which explains itself");
    if created.committed.iter().any(|path| path.as_str() == ATTRIBUTES) {
        item(output, ATTRIBUTES, "has git merge tasks by their meaning");
    }
    if created.checkout.is_none() {
        item(output, ".aof/", "local, never committed: the inbox, the lock, schemas for editors");
    }
    if let Some(checkout) = &created.checkout {
        let what = "local, never committed: completion files are dropped there";
        item(output, &format!("{BRANCH}/{INBOX}/"), what);
        let (branch, commit) = (inert(&checkout.branch), of_commit(checkout.commit));
        let what =
            format!("on your branch `{branch}`{commit}: says which branch the project is on");
        checkout.committed.iter().for_each(|path| item(output, path.as_str(), &what));
    }
    show_set_up(output, &session.directory.join(&args.folder), created);
    added.show(session, mode, "\n");
    if mode == DryRun::Yes {
        output.line("dry run: nothing was written");
        return;
    }
    output.line(format!("\n{}", bold("try next:")));
    if args.folder.as_os_str() != "." {
        let folder = args.folder.display().to_string();
        let end_of_options = if folder.starts_with('-') { "-- " } else { "" };
        output.line(format!("  cd {end_of_options}{}", inert(&quoted(&folder))));
    }
    let first = &created.first.after.task.id;
    let show = format!("aof show {first}");
    output.line(format!("  {show:<26}  read the first task, and complete it"));
    output.line("  aof workflow show           see the gates that a task goes through");
    output.line("  aof new \"Add login\"         create a task of your own");
    if !args.agents {
        output.line("  aof init --agents           connect your coding agents");
    }
}

/// Shows the settings that were made in `.git`.
fn show_set_up(output: Output, folder: &Path, created: &CreatedProject) {
    let held = created.attributes_held;
    if held {
        let what = "is left alone, since it has changes that are not committed: git merges tasks as text until these \
             are, and `aof doctor --fix` has added a line to it";
        item(output, ATTRIBUTES, what);
    }
    let item = |path: &Path, what: &str| item(output, &in_git(path, folder), what);
    if let Some(path) = &created.set_up.driver {
        let what = if held { "knows how" } else { "merges tasks by their meaning" };
        let undo = "`aof init --remove` takes that out";
        item(path, &format!("{what}; {undo}"));
    }
    for path in &created.set_up.hooks {
        let what = "guards the history of tasks; you may delete it";
        item(path, what);
    }
    for path in &created.set_up.foreign {
        let what = if path.exists() {
            "is yours, and stays as it is"
        } else {
            "is where git looks for hooks here, and was not created"
        };
        item(
            path,
            &format!(
                "{what}; with the line `{HOOK_LINE}` it protects the history of tasks (`aof doctor` says more)"
            ),
        );
    }
}

fn item(output: Output, path: &str, what: &str) {
    output.line(format!("  {}  {what}", cyan(inert(&format!("{path:<18}")))));
}

/// Returns the path from `.git` on, if that is in a folder above; a linked worktree has its `.git` elsewhere.
fn in_git(path: &Path, folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let top = folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&folder);
    let rest = path.strip_prefix(top).ok().filter(|rest| rest.starts_with(".git"));
    rest.unwrap_or(path).display().to_string()
}

fn value(template: Template, created: &CreatedProject) -> Value {
    let mut value = json!({
        "project": created.name,
        "root": created.root.display().to_string(),
        "template": template,
        "newRepository": created.new_repository,
        "branch": created.branch,
        "commit": created.first.commit,
        "committed": created.committed,
        "setUp": {"mergeDriver": created.set_up.driver, "hook": created.set_up.hooks.first(),
            "attributesHeld": created.attributes_held,
            "foreignHook": created.set_up.foreign.first()},
        "task": task_value(&created.rules, &created.first.after, &created.first.path),
    });
    if let Some(checkout) = &created.checkout {
        value["checkout"] = json!({
            "root": checkout.root.display().to_string(),
            "branch": checkout.branch,
            "commit": checkout.commit,
            "committed": checkout.committed,
        });
    }
    value
}

/// The additions to the project besides its rules: files for agents and for monitoring.
pub(crate) struct Added {
    pub agents: Option<WiredAgents>,
    pub monitoring: Option<MonitoringReport>,
}

impl Added {
    /// Adds the additions to the JSON of the command.
    pub(crate) fn put(&self, value: &mut Value) {
        if let Some(wired) = &self.agents {
            value["agents"] = agents_value(wired);
        }
        if let Some(monitored) = &self.monitoring {
            let places =
                |fate| monitored.with_fate(fate).map(MonitoringFile::place).collect::<Vec<_>>();
            value["observability"] = json!({
                "written": places(MonitoringFate::New),
                "unchanged": places(MonitoringFate::Unchanged),
                "kept": places(MonitoringFate::Kept),
                "takenAway": places(MonitoringFate::TakenAway),
                "ignored": places(MonitoringFate::Ignored),
                "commit": monitored.commit,
            });
        }
    }

    /// Shows the additions, each part after `gap`.
    pub(crate) fn show(&self, session: &Session, mode: DryRun, gap: &str) {
        if let Some(wired) = &self.agents {
            session.output.print(gap);
            show_agents(session.output, wired, mode);
        }
        if let Some(monitored) = &self.monitoring {
            session.output.print(gap);
            show_monitoring(session.output, monitored, mode);
        }
    }

    /// Returns the exit code: 6 for files that cannot be merged, 5 for uncommitted changes, 1 for ignored files.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let refused = self.agents.iter().flat_map(WiredAgents::refused);
        let codes = refused.map(|(_, obstacle)| match obstacle.code {
            "unmergeable_file" | "unreadable_file" => 6,
            "ignored_file" => 1,
            _ => 5,
        });
        ExitCode::from(codes.max().unwrap_or(0))
    }
}

fn agents_value(wired: &WiredAgents) -> Value {
    let of = |wanted: fn(&Wiring) -> bool| -> Vec<&str> {
        let files = wired.files.iter().filter(|file| wanted(&file.fate));
        files.map(|file| file.path.as_str()).collect()
    };
    let refused = wired.refused().map(|(file, obstacle)| {
        json!({
            "path": file.path,
            "error": obstacle.code,
            "message": format!("{}\n\n{}", obstacle.problem, obstacle.fix),
            "snippet": file.file.snippet(wired.agent.as_ref()),
        })
    });
    json!({
        "written": of(|fate| matches!(fate, Wiring::Written { .. })),
        "unchanged": of(|fate| matches!(fate, Wiring::Unchanged)),
        "refused": refused.collect::<Vec<_>>(),
        "commit": wired.commit,
    })
}

fn show_agents(output: Output, wired: &WiredAgents, mode: DryRun) {
    let summary = match (wired.changes(), mode, wired.refused().count()) {
        (true, DryRun::Yes, _) => "would tell coding agents how to work on tasks",
        (true, DryRun::No, _) => "told coding agents how to work on tasks",
        (false, _, 0) => "coding agents know how to work on tasks already: nothing to change",
        (false, ..) => "nothing was changed",
    };
    output.line(format!("{summary}{}", of_commit(wired.commit)));
    for file in &wired.files {
        let fate = match &file.fate {
            Wiring::Unchanged => "  (as it was)",
            Wiring::Written { before: Some(_), .. } => "  (changed)",
            Wiring::Written { before: None, .. } => "  (new)",
            Wiring::Refused(_) => "  (left alone, see below)",
        };
        let path = cyan(format!("{:<21}", inert(file.path.as_str())));
        output.line(format!("  {path}  {}{fate}", file.file.what()));
    }
    if let Some(agent) = &wired.agent {
        output.line(format!(
            "clients act as {}; `AOF_AGENT` names another agent, but not for the shells of Claude Code and Codex; two sessions under one name are one agent",
            cyan(agent)
        ));
    }
    if mode == DryRun::Yes {
        wired.files.iter().for_each(|file| show_change(output, file));
    }
    for (file, obstacle) in wired.refused() {
        output.say(format!("{} {}", yellow("left alone:"), inert(&obstacle.problem)));
        output.say(format!("{} {}", bold("hint:"), inert(&obstacle.fix)));
        let is_text = matches!(file.file, AgentFile::Instructions | AgentFile::ClaudeInstructions);
        if obstacle.code == "ignored_file" || obstacle.code.ends_with("_file") && !is_text {
            let snippet = file.file.snippet(wired.agent.as_ref());
            let lines = snippet.lines().map(|line| format!("\n  {line}"));
            let lines = lines.collect::<Vec<_>>().concat();
            output.say(format!("or write it by hand into `{}`:{lines}", file.path));
        }
    }
}

/// Shows the removed and the added lines of one file.
fn show_change(output: Output, file: &WiredFile) {
    let Wiring::Written { before, after } = &file.fate else { return };
    let old: Vec<&str> = before.as_deref().unwrap_or_default().lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    output.line(format!("\n{}", inert(file.path.as_str())));
    for (sign, lines) in [("-", &old[..old.len() - end]), ("+", &new[..new.len() - end])] {
        for line in lines {
            output.line(inert(&format!("{sign} {line}")));
        }
    }
}

fn show_monitoring(output: Output, monitored: &MonitoringReport, mode: DryRun) {
    let adds = monitored.with_fate(MonitoringFate::New).next().is_some();
    output.line(match (adds, mode) {
        (false, _) => "alerts, dashboard and runbook: nothing to add".to_owned(),
        (true, DryRun::Yes) => "would add alerts, a dashboard and a runbook".to_owned(),
        (true, DryRun::No) => {
            format!("added alerts, a dashboard and a runbook{}", of_commit(monitored.commit))
        }
    });
    for (file, fate) in &monitored.files {
        let fate = match fate {
            MonitoringFate::New => "new",
            MonitoringFate::Unchanged => "as it was",
            MonitoringFate::Kept => "yours, left as it is",
            MonitoringFate::TakenAway => {
                "deleted, which is not committed: commit that first to have it again"
            }
            MonitoringFate::Ignored => "left out: git ignores it",
        };
        let place = cyan(format!("{:<29}", file.place()));
        output.line(format!("  {place}  {}  ({fate})", file.what()));
    }
    if mode == DryRun::No && adds {
        output.line(format!("\n{}", bold("try next:")));
        let (watch, prometheus) = (
            "aof watch --metrics 127.0.0.1:9464",
            "prometheus --config.file monitoring/prometheus.yml",
        );
        output.line(format!("  {watch:<50}  serve the metrics"));
        output.line(format!("  {prometheus}  scrape them, and evaluate the alerts"));
    }
}
