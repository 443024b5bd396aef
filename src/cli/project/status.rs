//! `aof status`.

use std::process::ExitCode;

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::doctor::FEW;
use crate::cli::render::table::cut;
use crate::cli::{
    ActingAgent, CliResult, DryRunOption, Session, bold, counted, cyan, dim, green, merged, now,
    red, width, wrapped, yellow,
};
use crate::domain::Timestamp;
use crate::files::printable::{inert, one_line};
use crate::health::context::{CheckContext, View};
use crate::health::overview::{
    Overview, StatusEntry, StatusLists, StatusSection, overview, overview_value, problems,
    squashable_tasks, status_lists,
};
use crate::project::issue::Issue;
use crate::rules::Rules;
use crate::storage::Inbox;
use crate::storage::lock::{Service, is_running, is_watched};
use crate::tasks::plan::DryRun;
use crate::tasks::view::phrases::{self, mark, short_age};

/// The number of tasks that a section shows.
const SECTION: usize = 10;
/// The column of a section's command.
const COMMAND: usize = 52;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    who: ActingAgent,
    /// Remove all refused completions
    #[arg(long)]
    clear: bool,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run(session: &Session, args: &StatusArgs) -> CliResult {
    let workspace = session.workspace("status")?;
    if args.clear {
        let inbox = Inbox::at(&workspace.paths);
        let names = inbox.refused()?;
        if args.dry_run_option.mode() == DryRun::No {
            inbox.remove_refused(&names)?;
        }
        let count = counted(names.len(), "refused completion");
        session.output.show(|| json!({"cleared": names}), || format!("{count} removed\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let context = CheckContext::read(&workspace, View::Status, is_watched(&workspace.paths))?;
    let overview = overview(&context)?;
    let lists = status_lists(&context, args.who.agent.as_ref());
    let value = || merged(overview_value(&overview), json!(lists));
    let has_people =
        context.project().is_some_and(|project| !project.in_force.rules.project.implicit_workflow);
    let is_unknown = has_people && lists.you.is_none();
    let project = context.project();
    let page = || {
        let page = StatusPage {
            session,
            overview: &overview,
            lists: &lists,
            rules: project.map(|project| &*project.in_force.rules),
            now: workspace.now(),
            is_unknown,
            squashable: squashable_tasks(&context),
            is_watched: is_watched(&workspace.paths),
            is_followed: is_running(&workspace.paths, Service::Runner),
            width: width(),
        };
        page.text()
    };
    session.output.show(value, page);
    Ok(ExitCode::SUCCESS)
}

/// The page of the status.
struct StatusPage<'s> {
    session: &'s Session,
    overview: &'s Overview<'s>,
    lists: &'s StatusLists,
    /// The rules, if they can be read.
    rules: Option<&'s Rules>,
    now: Timestamp,
    /// True if nobody in org.yaml is git's user.
    is_unknown: bool,
    /// The number of tasks whose steps a squash of this branch would bring.
    squashable: Option<usize>,
    is_watched: bool,
    /// True if `aof run --follow` is at work.
    is_followed: bool,
    width: usize,
}

impl StatusPage<'_> {
    fn text(&self) -> String {
        let Self { overview, lists, .. } = self;
        let name = overview.name.as_ref().map(|name| format!("{} ", bold(inert(name))));
        let branch = overview.branch.as_ref().map(|branch| format!("on {}", cyan(inert(branch))));
        let branch = branch.unwrap_or_else(|| "on no branch".to_owned());
        let watcher = match (self.is_watched, self.is_followed) {
            (true, true) => ", the watcher and a runner run",
            (true, false) => ", the watcher runs",
            (false, true) => ", a runner runs",
            (false, false) => "",
        };
        let mut lines = vec![format!("{}{branch}{watcher}", name.unwrap_or_default())];
        lines.extend(
            overview.remote.as_ref().map(|remote| self.session.with_times(&inert(&remote.line()))),
        );
        lines.push(phrases::counts(&overview.counts));
        if overview.drifted > 0 {
            let count = overview.drifted;
            let they = if count == 1 { "it goes" } else { "they go" };
            lines.push(format!(
                "{count} came to a gate under earlier rules, and {they} on under those in force"
            ));
        }
        if let Some((count, branch)) = self.squashable.zip(overview.branch.as_ref()) {
            let (branch, tasks) = (inert(branch), counted(count, "task"));
            lines.push(format!(
                "a squash of `{branch}` keeps the entries of {tasks}, and loses their commits and claims"
            ));
        }
        for pause in &overview.paused {
            lines.push(yellow(format!("{}: `aof run --now` does not wait", pause.sentence(now()))));
        }
        lines.extend(overview.budget.map(|budget| {
            let line = budget.sentence();
            if budget.is_spent() { yellow(line) } else { line }
        }));
        lines.push(String::new());
        if self.is_unknown {
            let text = "what waits for you is unknown: no agent of org.yaml has git's `user.email`";
            lines.extend(wrapped(text, self.width).iter().map(dim));
            lines.push(String::new());
        }
        lists.sections().for_each(|section| self.add_section(&mut lines, &section));
        self.add_problems(&mut lines);
        lines.join("\n") + "\n"
    }

    /// Adds a section of tasks, one a line, below its name with their number and the command to use.
    fn add_section(&self, lines: &mut Vec<String>, section: &StatusSection<'_>) {
        let StatusSection { title, entries, command } = section;
        let heading = format!("{title}: {}", entries.len());
        let gap = COMMAND.saturating_sub(heading.width()).max(2);
        lines.push(format!("{}{}{}", bold(&heading), " ".repeat(gap), dim(command)));
        let shown = &entries[..entries.len().min(SECTION)];
        let rows: Vec<[String; 3]> = shown.iter().map(|entry| self.row(entry)).collect();
        let widest = |cell: usize| rows.iter().map(|row| row[cell].width()).max().unwrap_or(0);
        let (middle, last) = (widest(1), widest(2));
        let is_terminal = self.width < usize::MAX;
        let start = shown.iter().map(|entry| self.id(entry).width()).max().unwrap_or(0) + 6;
        let room = if is_terminal {
            self.width.saturating_sub(start + middle + last + 4)
        } else {
            usize::MAX
        };
        let titles: Vec<String> = rows.iter().map(|row| cut(&row[0], room).into_owned()).collect();
        let title_width = titles.iter().map(|title| title.width()).max().unwrap_or(0);
        for ((entry, row), title) in shown.iter().zip(&rows).zip(titles) {
            let pad = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
            let (id, marked) = (self.id(entry), mark(entry.priority));
            let late = row[2].ends_with("late");
            let line = format!(
                "  {}{marked:>3} {title}{}  {}{}  {}",
                cyan(&id),
                pad(&title, title_width),
                row[1],
                pad(&row[1], middle),
                if late { red(&row[2]) } else { row[2].clone() },
            );
            lines.push(line.trim_end().to_owned());
        }
        if entries.len() > SECTION {
            lines.push(dim(format!("  ... and {} more", entries.len() - SECTION)));
        }
        lines.push(String::new());
    }

    fn id(&self, entry: &StatusEntry) -> String {
        if self.width == usize::MAX {
            return entry.ticket.task.to_string();
        }
        entry.ticket.task.local().to_owned()
    }

    /// Returns the title, where the task is or who has it, and when it is due or since when it waits.
    fn row(&self, entry: &StatusEntry) -> [String; 3] {
        let place = self.rules.map(|rules| entry.place(rules)).unwrap_or_default();
        let due = self.rules.and_then(|rules| entry.due_words(rules, self.now));
        let age = || short_age(entry.since, self.now);
        [one_line(&entry.title), place, due.unwrap_or_else(age)]
    }

    fn add_problems(&self, lines: &mut Vec<String>) {
        let mut problems: Vec<&Issue> = problems(self.overview).collect();
        problems.sort_by_key(|issue| match issue.code {
            "task_blocked" => 0,
            "task_frozen" => 1,
            _ => 2,
        });
        if problems.is_empty() {
            lines.push(green("nothing needs attention"));
        } else {
            lines.push(bold(format!("Problems: {}", problems.len())));
        }
        for alike in problems.chunk_by(|a, b| a.code == b.code) {
            for issue in alike.iter().take(FEW) {
                lines.push(format!(
                    "  {} {}",
                    yellow("!"),
                    paragraph(&self.session.with_times(&issue.problem))
                ));
                lines.push(format!("    {}", paragraph(&issue.fix.to_string())));
            }
            if alike.len() > FEW {
                let rest = match alike[0].code {
                    "task_blocked" => ": aof list --status blocked",
                    _ => "",
                };
                lines.push(format!("    ... and {} more of the kind{rest}", alike.len() - FEW));
            }
        }
    }
}

/// Returns a text whose lines fit the terminal after an indent of four.
fn paragraph(text: &str) -> String {
    let room = width().saturating_sub(4);
    let lines = text.lines().flat_map(|line| wrapped(&inert(line), room));
    lines.collect::<Vec<_>>().join("\n    ")
}
