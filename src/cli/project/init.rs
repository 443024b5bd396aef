//! `aof init`

mod additions;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use self::additions::{Added, item};
use crate::cli::{
    CliError, CliResult, DryRunOption, Output, Session, bold, now, of_commit, template,
    typed_command,
};
use crate::domain::{AgentId, BranchName, RoleId};
use crate::files::config::configuration::PROJECT_FILE;
use crate::files::printable::inert;
use crate::git::Head;
use crate::history::merge_driver::ATTRIBUTES;
use crate::project::git_hints::GitCommands;
use crate::project::open::follow_branch;
use crate::project::workspace::{Workspace, warn_in_log};
use crate::setup::agent_choice::AgentChoice;
use crate::setup::agent_wiring::{WiringChoice, agents_to_wire, wire_agents, wired_agent};
use crate::setup::init::init_on_branch;
use crate::setup::init::{
    CreatedProject, NewProject, init, is_unfinished, refuse_in_clone, repository_around,
};
use crate::setup::monitoring::{add_monitoring, monitoring_to_add};
use crate::setup::remove::remove;
use crate::setup::template::Template;
use crate::storage::{Paths, ProjectPath};
use crate::system::terminal::{all_quoted, quoted};
use crate::tasks::plan::DryRun;
use crate::tasks::view::task_view::task_value;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A new project is `project.yaml`, `org.yaml` and a first task in `tasks/`, in one commit. `.aof/` is local and never committed: \
completion files are dropped into its `inbox`, and editors find schemas there. With `--branch`, all of it is in `.aof/branch`.

`.gitattributes` has git merge tasks by their meaning. In `.git`, where no commit holds it, two things are set up, so that git merges tasks by their meaning and loses none of their \
history: the merge driver `merge.aof` in its configuration, and the hooks `pre-commit` and `pre-merge-commit`, unless there are \
some already. `aof init --remove` takes them out again.

Examples:
  aof init                           here, in an empty folder or a git repository
  aof init garden --template sdlc    in a folder of its own, with the gates of a software project
  aof init --branch aof              in a repository with code: tasks on a branch of their own
  aof init --agents                  connect coding agents to a project, new or not
  aof init --agents --agent bot-1    the same, and they act as bot-1
  aof init --agents --hooks          the same, with hooks that keep Claude Code at work
  aof init --observability           alerts, a dashboard and a runbook, in a project new or not
  aof init --dry-run                 see what would be written")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
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
    #[arg(long, value_name = "NAME", conflicts_with = "here")]
    branch: Option<BranchName>,
    /// Keep the project on the checked-out branch, beside code, without a question
    #[arg(long)]
    here: bool,
    /// Tell coding agents how to work on tasks: a block in AGENTS.md, a line in CLAUDE.md, and the MCP server in the project's
    /// configuration for Claude Code, Codex, Gemini CLI, OpenCode, VS Code and Cursor. In an existing project it does only that.
    /// What others wrote in these files stays, and a second run changes nothing. They name one agent of org.yaml, which is no
    /// person: two sessions under one name are one agent. `AOF_AGENT` in a client's environment names another, but not in the
    /// shells of Claude Code and Codex
    #[arg(long)]
    agents: bool,
    /// The agent that these clients act as. Without it you are asked, if org.yaml has several; later it names another
    #[arg(long, value_name = "ID", requires = "agents")]
    agent: Option<AgentId>,
    /// Also set up hooks in Claude Code: a session begins with the brief of what the agent holds, also after its context was
    /// summarized, and is sent back while the agent holds a visit
    #[arg(long, requires = "agents")]
    hooks: bool,
    /// Add `monitoring/` with alerts for Prometheus, a dashboard for Grafana, and a runbook. In an existing project it does only
    /// that. Existing files stay as they are
    #[arg(long)]
    observability: bool,
    /// Take out again what was set up beside tasks and rules: the merge driver, its hooks, the line in `.gitattributes`, and what
    /// `--agents` wrote. The project itself stays, and the changed files are for you to commit
    #[arg(long, conflicts_with_all = ["template", "name", "branch", "here", "agents", "observability"])]
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
    let is_new_project =
        args.template.is_some() || args.name.is_some() || args.branch.is_some() || args.here;
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
    // A project that exists is refused without questions.
    let is_new = !new.folder.join(PROJECT_FILE).exists();
    let is_answered = args.branch.is_some() || args.here;
    if is_new {
        refuse_in_clone(&new.folder, is_answered)?;
    }
    let code = if is_answered { None } else { code(&new.folder)? };
    let asks = is_new && mode == DryRun::No && Session::at_terminal() && !session.output.is_json();
    let branch = match code.as_ref().filter(|_| asks) {
        Some(head) => ask_for_branch(session, head.branch())?,
        None => args.branch.clone(),
    };
    let choice = args.agents.then(|| AgentChoice::in_template(template));
    let agent = choice.map(|choice| agent_to_wire(session, args, &new.folder, Some(&choice)));
    let agent = agent.transpose()?.flatten();
    let created = match &branch {
        Some(branch) => {
            init_on_branch(&new, branch, now(), &open, &session.checkout_wait("init"), mode)?
        }
        None => init(&new, now(), &open, mode)?,
    };
    let added = if mode == DryRun::Yes {
        let choice = WiringChoice { agent: agent.as_ref(), hooks: args.hooks };
        Added {
            agents: args.agents.then(|| agents_to_wire(&new.folder, choice)).transpose()?,
            monitoring: args.observability.then(|| monitoring_to_add(&new.folder)).transpose()?,
        }
    } else {
        // Agents work where the code is.
        let root = created.checkout.as_ref().map_or(&created.root, |checkout| &checkout.root);
        added(session, args, root, agent.as_ref(), mode)?
    };
    if session.output.is_json() {
        let mut value = value(template, &created);
        added.put(&mut value);
        session.output.change_data(value, mode);
    } else {
        show(session, args, (&created, &added), code.is_some() && !asks, mode);
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

/// Returns the HEAD of the repository around the folder, if it has commits: tasks would share its branch with code.
fn code(folder: &Path) -> CliResult<Option<Head>> {
    let repository = repository_around(folder)?.filter(|_| folder.is_dir());
    let head = repository.and_then(|repository| repository.head().ok());
    Ok(head.filter(|head| head.commit.is_some()))
}

/// Asks the person for the branch of the tasks; `None` is the checked-out one.
fn ask_for_branch(session: &Session, here: &str) -> CliResult<Option<BranchName>> {
    let question = format!(
        "There is code here. Keep tasks on a branch of their own, `{BRANCH_NAME}` (recommended), or `here`, on `{here}`? [{BRANCH_NAME}] "
    );
    loop {
        let Some(answer) = session.ask(&question)? else {
            let fix = format!("choose with `--branch {BRANCH_NAME}` or `--here`");
            return Err(CliError::refused("no_branch_chosen", "no branch was chosen", fix));
        };
        match answer.to_lowercase().as_str() {
            "" | "y" | "yes" | BRANCH_NAME => {
                return Ok(Some(BRANCH_NAME.parse().expect("a valid name")));
            }
            "h" | "here" | "n" | "no" => return Ok(None),
            _ => session
                .output
                .say("press Enter, or type `here`; `--branch NAME` takes another name"),
        }
    }
}

/// Adds files for agents or for monitoring to an existing project.
fn add(session: &Session, args: &InitArgs, root: &Path, mode: DryRun) -> CliResult {
    let open = Workspace::open(root, "aof init".to_owned(), now, session.wait, warn_in_log);
    let in_force = open.and_then(|workspace| workspace.rules()).ok();
    let choice = in_force.map(|in_force| AgentChoice::in_project(&in_force.rules));
    let agent = args.agents.then(|| agent_to_wire(session, args, root, choice.as_ref()));
    let agent = agent.transpose()?.flatten();
    let added = added(session, args, root, agent.as_ref(), mode)?;
    if session.output.is_json() {
        let mut value = json!({"root": root.display().to_string()});
        added.put(&mut value);
        session.output.change_data(value, mode);
    } else {
        added.show(session.output, mode);
        if mode == DryRun::Yes {
            session.output.line("dry run: nothing was written");
        }
    }
    Ok(added.exit_code())
}

/// Returns the agent that the files for clients name: the given one, the one that they name already, the only one, or the one that
/// the person chooses. Without valid rules, no choice is known.
fn agent_to_wire(
    session: &Session,
    args: &InitArgs,
    root: &Path,
    choice: Option<&AgentChoice>,
) -> CliResult<Option<AgentId>> {
    let Some(choice) = choice else { return Ok(args.agent.clone().or_else(|| wired_agent(root))) };
    let listed = |(agent, roles): &(AgentId, Vec<RoleId>)| match roles.as_slice() {
        [] => agent.to_string(),
        roles => {
            let roles: Vec<&str> = roles.iter().map(RoleId::as_str).collect();
            format!("{agent} ({})", roles.join(", "))
        }
    };
    let listed: Vec<String> = choice.agents.iter().map(listed).collect();
    let refused = |code, problem: String, command: String| {
        let fix = match choice.likely() {
            Some(agent) => format!("run `{command} --agent {agent}`, or name another of them"),
            None => "add an agent to a role in org.yaml".to_owned(),
        };
        Err(CliError::refused(code, problem, fix))
    };
    if let Some(agent) = &args.agent {
        if choice.agents.iter().any(|(known, _)| known == agent) {
            return Ok(Some(agent.clone()));
        }
        let problem = format!("clients cannot act as `{agent}`; agents: {}", listed.join(", "));
        return refused("unknown_agent", problem, "aof init --agents".to_owned());
    }
    if let Some(agent) = wired_agent(root) {
        return Ok(Some(agent));
    }
    if let [] | [_] = choice.agents.as_slice() {
        return Ok(choice.likely().cloned());
    }
    if Session::at_terminal() && !session.output.is_json() {
        return choose(session, choice, &listed).map(Some);
    }
    let problem =
        format!("clients act as one agent, and org.yaml has several: {}", listed.join(", "));
    refused("several_agents", problem, typed_command())
}

/// Asks the person for one of the agents.
fn choose(session: &Session, choice: &AgentChoice, listed: &[String]) -> CliResult<AgentId> {
    let likely = choice.likely().expect("there are several agents");
    session.output.say("coding agents act here as one of");
    for (number, agent) in (1..).zip(listed) {
        session.output.say(format!("  {number}  {agent}"));
    }
    loop {
        let Some(line) = session.ask(&format!("which one? [{likely}] "))? else {
            let fix = format!("name one with `--agent {likely}`");
            return Err(CliError::refused("several_agents", "no agent was chosen", fix));
        };
        match choice.named(&line) {
            Some(agent) => return Ok(agent.clone()),
            None if line.is_empty() => return Ok(likely.clone()),
            None => session.output.say("type a number or an id of the list"),
        }
    }
}

fn added(
    session: &Session,
    args: &InitArgs,
    root: &Path,
    agent: Option<&AgentId>,
    mode: DryRun,
) -> CliResult<Added> {
    let workspace = || session.new_workspace(root);
    let choice = WiringChoice { agent, hooks: args.hooks };
    Ok(Added {
        agents: args.agents.then(|| wire_agents(&workspace()?, choice, mode)).transpose()?,
        monitoring: args.observability.then(|| add_monitoring(&workspace()?, mode)).transpose()?,
    })
}

/// Shows a new project in at most ten lines, details of a dry run and refusals aside.
fn show(
    session: &Session,
    args: &InitArgs,
    (created, added): (&CreatedProject, &Added),
    is_beside_code: bool,
    mode: DryRun,
) {
    let output = session.output;
    let verb = if mode == DryRun::Yes { "would begin" } else { "began" };
    let repository = if created.new_repository { ", in a new git repository" } else { "" };
    let (name, root, commit) =
        (&created.name, created.root.display(), of_commit(created.first.commit));
    output.line(inert(&format!("{verb} `{name}` in {root}{repository}{commit}")));
    item(output, "project.yaml, org.yaml", "the gates of every task, and who works at them");
    item(output, created.first.path.as_str(), "a first task, which explains itself");
    show_set_up(output, &session.directory.join(&args.folder), created);
    if let Some(checkout) = &created.checkout {
        let (branch, commit) = (inert(&checkout.branch), of_commit(checkout.commit));
        let what = format!("on `{branch}`{commit}: names the branch of the tasks");
        checkout.committed.iter().for_each(|path| item(output, path.as_str(), &what));
    }
    added.show_items(output);
    added.show_details(output, mode);
    if mode == DryRun::Yes {
        output.line("dry run: nothing was written");
        return;
    }
    let mut first = format!("aof show {}", created.first.after.task.id);
    if args.folder.as_os_str() != "." {
        let folder = args.folder.display().to_string();
        let end_of_options = if folder.starts_with('-') { "-- " } else { "" };
        first = format!("cd {end_of_options}{} && {first}", inert(&quoted(&folder)));
    }
    let mut rows = vec![("next:", first, "read the first task, and complete it")];
    if !args.agents {
        rows.push(("", "aof init --agents".to_owned(), "connect your coding agents"));
    }
    rows.push(("more:", "aof init --help".to_owned(), "what else was made, and how to undo it"));
    if is_beside_code && created.root.join(".git").exists() {
        rows.push((
            "  or:",
            "aof migrate branch".to_owned(),
            "keep tasks on a branch of their own",
        ));
    }
    let widths = rows.iter().map(|(_, command, _)| command.len());
    let width = widths.filter(|width| *width <= 36).max().unwrap_or_default();
    for (head, command, what) in rows {
        output.line(format!("{} {command:<width$}  {what}", bold(format!("{head:<5}"))));
    }
}

/// Shows the settings that were made in `.git`.
fn show_set_up(output: Output, folder: &Path, created: &CreatedProject) {
    let set_up = &created.set_up;
    if created.attributes_held {
        item(output, ATTRIBUTES, "left alone: commit its changes, then `aof doctor --fix`");
    } else {
        let mut places: Vec<String> =
            set_up.driver.iter().map(|path| git_dir(path, folder)).collect();
        if created.committed.iter().any(|path| path.as_str() == ATTRIBUTES) {
            places.push(ATTRIBUTES.to_owned());
        }
        if !places.is_empty() {
            let what = "merge tasks by their meaning (undo: aof init --remove)";
            item(output, &places.join(", "), what);
        }
    }
    if let Some(path) = set_up.foreign.first() {
        let what = if set_up.foreign.iter().any(|path| path.exists()) {
            "yours, and stays: `aof doctor` says what it lacks"
        } else {
            "not made, git looks for hooks there: see `aof doctor`"
        };
        item(output, &in_git(path, folder), what);
    }
}

/// Returns the path from `.git` on, if that is in a folder above; a linked worktree has its `.git` elsewhere.
fn in_git(path: &Path, folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let top = folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&folder);
    let rest = path.strip_prefix(top).ok().filter(|rest| rest.starts_with(".git"));
    rest.unwrap_or(path).display().to_string()
}

/// Returns the folder of git in which a file of settings is.
fn git_dir(path: &Path, folder: &Path) -> String {
    format!("{}/", in_git(path.parent().unwrap_or(path), folder))
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
