//! Reports of the watcher for people: a line each, and details below it

use serde_json::Value;

use crate::cli::render::changes::{dependent, followed, lapsed, timed_out};
use crate::cli::{Session, bold, cyan, painted, red, short, yellow};
use crate::files::printable::inert;
use crate::project::error::ProjectError;
use crate::storage::layout::{BRANCH, INBOX};
use crate::tasks::inbox::deliver::Delivered;
use crate::tasks::plan::Changed;
use crate::tasks::view::task_view::way;
use crate::watch::report::{EventSource, WatchReport};

/// Returns a report in words. `retries` says whether what failed is tried again.
#[expect(clippy::too_many_lines, reason = "an arm for each report")]
pub(crate) fn report_text(session: &Session, report: &WatchReport, retries: bool) -> String {
    let git_said = |text: &str| inert(&session.git_said(text.to_owned()));
    let of = |changed: &Changed, text: String| {
        format!("{}  {}", cyan(&changed.after.task.id), inert(&text))
    };
    match report {
        WatchReport::Watching { project, branch, sight } => {
            let branch = branch.as_ref().map(|branch| format!(" on branch `{}`", inert(branch)));
            let folder =
                if project.ends_with(BRANCH) { format!("{BRANCH}/") } else { String::new() };
            let polling = polling(sight).map(|why| format!("\n{}", warning(&why)));
            format!(
                "watching `{}`{}; drop completion files into `{folder}{INBOX}/`{}",
                inert(&project.display().to_string()),
                branch.unwrap_or_default(),
                polling.unwrap_or_default()
            )
        }
        WatchReport::Serving { address, exposed } => {
            let text = format!("metrics at http://{address}/metrics");
            let told = format!(
                "whoever reaches this machine can read them; `--metrics 127.0.0.1:{}` is for this machine alone",
                address.port()
            );
            if *exposed { format!("{text}\n{}", warning(&told)) } else { text }
        }
        WatchReport::EventSource(sight) => match polling(sight) {
            Some(why) => warning(&why),
            None => "file events work again".to_owned(),
        },
        WatchReport::Uncounted { problem } => {
            warning(&format!("metrics are not up to date: {}", inert(problem)))
        }
        WatchReport::Undelivered { problem } => {
            warning(&format!("a notice could not be delivered: {}", inert(problem)))
        }
        WatchReport::Unrecorded { problem } => {
            warning(&format!("the event stream is not up to date: {}", inert(problem)))
        }
        WatchReport::CaughtUp { files } => format!(
            "git's index had an earlier version of {}, left by a git command that another one overtook; it has what is committed again",
            inert(&files.join(", "))
        ),
        WatchReport::PutBack(put) => {
            let steps = match put.steps {
                1 => "1 step is".to_owned(),
                steps => format!("{steps} steps are"),
            };
            let tasks = inert(&put.tasks.join(", "));
            format!("{steps} on the branch again, after a git command had dropped them: {tasks}")
        }
        WatchReport::TakenBack { problem, fix } => {
            format!("{} {}\n  {}", yellow("needs a look:"), inert(problem), inert(fix))
        }
        WatchReport::Stray { path, reason } => {
            warning(&format!("`{}` is no task: {}", inert(path), inert(reason)))
        }
        WatchReport::RulesInForce { commit } => {
            format!("new rules in force, of commit {}", short(commit))
        }
        WatchReport::RulesInvalid { in_force, diagnostics } => format!(
            "{} the committed rules are invalid; those of commit {} stay in force\n{}",
            red("error:"),
            short(in_force),
            painted(diagnostics)
        ),
        WatchReport::RulesUncommitted { files } => {
            let files = inert(&files.join(", "));
            format!("{files} differs from what is committed; it counts once it is committed")
        }
        WatchReport::Synced(synced) => {
            let name = inert(&synced.upstream.name());
            let (came, went) = (synced.came.len(), synced.went.len());
            let mut text = format!("synced with {name}: {came} came, {went} went");
            for loss in &synced.superseded {
                text.push_str(&format!("\n  superseded: {}", inert(&loss.what)));
            }
            text
        }
        WatchReport::Unsynced { problem, fix } => {
            let fix = fix.as_ref().map(|fix| format!("\n  {}", git_said(fix)));
            let text = format!("not synced: {}{}", git_said(problem), fix.unwrap_or_default());
            warning(&text)
        }
        WatchReport::Paused { reason } => format!("{} {}", yellow("waiting:"), git_said(reason)),
        WatchReport::Trouble(error) => {
            let again = if retries { "\nit is tried again until it works" } else { "" };
            format!("{} {}{again}", red("error:"), error_text(session, error))
        }
        WatchReport::Resumed => bold("going on"),
        WatchReport::Stopped => "stopped".to_owned(),
        WatchReport::Delivered(delivered) => delivered_text(session, delivered),
        WatchReport::Adopted(changed) => {
            with_warnings(of(changed, format!("adopted{}", at_gate(changed))), changed)
        }
        WatchReport::Passed(changed) => {
            of(changed, format!("went on by itself, now{}", at_gate(changed)))
        }
        WatchReport::TimedOut(changed) => of(changed, timed_out(changed)),
        WatchReport::Lapsed(changed) => of(changed, lapsed(changed)),
        WatchReport::Followed(changed) => of(changed, followed(changed)),
        WatchReport::Moved(changed) => {
            of(changed, format!("moved to `{}`, where it belongs", changed.path.folder()))
        }
        WatchReport::Committed(changed) => of(changed, "edited by hand, committed".to_owned()),
        WatchReport::Given(given) => format!("{}  given to {}", cyan(&given.ticket), given.agent),
        WatchReport::Dependent(own) => format!("{}  {}", cyan(&own.task), inert(&dependent(own))),
        WatchReport::Troubled { task, error } => {
            let error = error_text(session, error);
            format!("{}  {} {error}", cyan(task), yellow("needs a look:"))
        }
    }
}

fn delivered_text(session: &Session, delivered: &Delivered) -> String {
    match delivered {
        Delivered::Completed { changed, name } => {
            let id = cyan(&changed.after.task.id);
            if changed.settled {
                return format!("{id}  `{}` had counted already", flat(name));
            }
            let visit = changed.after.task.history.last();
            let outcome = visit.map(|visit| visit.outcome.to_string()).unwrap_or_default();
            let agent = visit.and_then(|visit| visit.agent.as_ref());
            let agent = agent.map(|agent| format!(" by {agent}")).unwrap_or_default();
            let text = format!("{id}  {} ({outcome}){agent}", inert(&way(changed)));
            with_warnings(text, changed)
        }
        Delivered::Refused { name, reason, path } => {
            let message = first_line(reason["message"].as_str().unwrap_or_default());
            let place = path.file_name().unwrap_or_default().to_string_lossy();
            let place = format!(".aof/refused/{}", flat(&place));
            let (refused, name, hint) = (red("refused"), flat(name), hint(session, reason));
            format!(
                "{refused} `{name}`: {message}{hint}\nit is now `{place}`, with the whole reason in `{place}.reason.json`"
            )
        }
        Delivered::Waiting { name, error } => {
            format!("{} `{}`: {}", yellow("waiting"), flat(name), error_text(session, error))
        }
    }
}

/// Returns why the watcher polls, if it does.
pub(crate) fn polling(sight: &EventSource) -> Option<String> {
    match sight {
        EventSource::Events => None,
        EventSource::Polling { reason } => {
            Some(format!("{reason}; so everything is looked at every second"))
        }
    }
}

fn warning(text: &str) -> String {
    format!("{} {text}", yellow("warning:"))
}

/// Returns a text with the warnings of a change below it.
fn with_warnings(mut text: String, changed: &Changed) -> String {
    for warned in &changed.warnings {
        text.push_str(&format!("\n{}", warning(&inert(&warned.message()))));
    }
    text
}

/// Returns an error with its diagnostics and the way out below it.
fn error_text(session: &Session, error: &ProjectError) -> String {
    let mut text = inert(&session.git_said(error.to_string()));
    if let ProjectError::UnreadableTask { diagnostics, .. }
    | ProjectError::InvalidRules(diagnostics) = error
    {
        text.push_str(&format!("\n{}", painted(diagnostics)));
    }
    if let Some(fix) = error.fix() {
        text.push_str(&format!("\n{}", inert(&session.git_said(fix))));
    }
    text
}

fn first_line(text: &str) -> String {
    inert(text.lines().next().unwrap_or_default())
}

/// Returns what to do about a refused file: the help of its first diagnostic, else the second part of the message.
fn hint(session: &Session, reason: &Value) -> String {
    let help = reason["diagnostics"].as_array().and_then(|found| found.first()?["help"].as_str());
    let fix = || reason["message"].as_str().and_then(|message| Some(message.split_once("\n\n")?.1));
    match help.or_else(fix).map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => {
            format!("\n{} {}", bold("hint:"), first_line(&session.git_said(text.to_owned())))
        }
        None => String::new(),
    }
}

/// Returns a name on one line: names of files may have line breaks.
fn flat(name: &str) -> String {
    inert(&name.replace('\n', "\\n"))
}

fn at_gate(changed: &Changed) -> String {
    let task = &changed.after.task;
    match &task.gate {
        Some(open) => format!(" at {}", open.current),
        None => format!(" {}", task.status),
    }
}
