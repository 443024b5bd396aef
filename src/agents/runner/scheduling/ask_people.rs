//! Gates for people: the person at the terminal is asked, and the answer completes the visit. A refused answer is asked for again;
//! without an answer the run ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::agents::runner::request::{Audience, PersonQuestion, Refused, RunnerSetup};
use crate::agents::runner::run_event::{RunEvent, WaitReason, WaitingWork};
use crate::dispatch::workplaces::openings;
use crate::domain::Completion;
use crate::git::Asking;
use crate::project::error::ProjectError;
use crate::rules::RefusalKind;
use crate::tasks::plan::DryRun;
use crate::tasks::signing::{Signing, complete_signed};
use crate::tasks::view::brief::briefed;
use crate::tasks::view::task_view::ended;
use crate::tasks::view::task_view::show;

/// How often the audience is asked to show that time passes, when nothing happens.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// How often something is tried again, or new work is looked for beside work under way.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// The result of asking.
pub(crate) enum PeopleAnswer {
    Completed,
    /// The place has moved on by itself.
    Overtaken,
    /// There was no answer.
    None,
}

/// Asks the audience about the gates for people among those that wait.
pub(crate) fn ask(
    project: &RunnerSetup,
    waits: &[WaitingWork],
    stop: &AtomicBool,
    audience: &mut dyn Audience,
) -> Result<PeopleAnswer, ProjectError> {
    for wait in waits.iter().filter(|wait| wait.why == WaitReason::People) {
        let mut refused = None;
        loop {
            let workspace = project.open()?;
            let (view, in_force) = show(&workspace, &wait.ticket.task)?;
            let open = openings(&in_force.rules, &view.file.task);
            let Some(opening) = open.iter().find(|opening| opening.ticket == wait.ticket) else {
                // The task moved on while the person thought about the answer.
                if refused.is_some() {
                    return Ok(PeopleAnswer::Overtaken);
                }
                break;
            };
            let (file, context, _) = briefed(&workspace, &wait.ticket)?;
            let (file, context, path) = (&file, &context, &view.path);
            let asked = PersonQuestion { opening, file, path, context, refused: refused.as_ref() };
            let Some(completion) = audience.decide(&asked) else { break };
            match complete(project, wait, completion, stop, audience)? {
                Ok(answer) => return Ok(answer),
                Err(why) => refused = Some(why),
            }
        }
    }
    Ok(PeopleAnswer::None)
}

/// Completes the visit with a person's answer. Waits while a merge or a lock stands in the way; the inner error says what was refused.
fn complete(
    project: &RunnerSetup,
    wait: &WaitingWork,
    completion: Completion,
    stop: &AtomicBool,
    audience: &mut dyn Audience,
) -> Result<Result<PeopleAnswer, Refused>, ProjectError> {
    let remark = |text: String| RunEvent::remark(&wait.ticket, text);
    let mut is_told = false;
    loop {
        let workspace = project.open()?;
        // A passphrase is asked for at the same terminal.
        let signing = Signing { key_file: None, asking: Asking::Terminal };
        let mut done = None;
        audience.aside(&mut || {
            done = Some(complete_signed(&workspace, &completion, signing, DryRun::No));
        });
        let Some(done) = done else { return Ok(Ok(PeopleAnswer::None)) };
        let (why, fix) = match done {
            Ok(done) => {
                let rules = workspace.rules()?.rules;
                let last = ended(&done).last().cloned();
                let task = &done.after.task;
                let (ticket, from, took) = (&wait.ticket, &wait.station, Duration::ZERO);
                audience.hear(&RunEvent::moved(&rules, ticket, from, last.as_ref(), task, took));
                return Ok(Ok(PeopleAnswer::Completed));
            }
            Err(ProjectError::Refused(refusal)) if refusal.kind() == RefusalKind::Conflict => {
                let why = ProjectError::Refused(refusal);
                audience.hear(&remark(format!("what was said came too late: {why}")));
                return Ok(Ok(PeopleAnswer::Overtaken));
            }
            Err(ProjectError::Refused(refusal)) => {
                let fix = refusal.fix();
                (ProjectError::Refused(refusal).to_string(), fix)
            }
            Err(ProjectError::Unfit { code: "cannot_sign", problem, fix }) => (problem, fix),
            Err(error) if error.passes() => {
                if !is_told {
                    is_told = true;
                    audience.hear(&remark(format!("{}; it is tried again", error.problem())));
                }
                let began = Instant::now();
                while began.elapsed() < LOOK {
                    if stop.load(Ordering::Relaxed) {
                        return Ok(Ok(PeopleAnswer::None));
                    }
                    audience.tick();
                    thread::sleep(TICK);
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        let fix = workspace.git_words.said(fix);
        return Ok(Err(Refused { completion, why, fix }));
    }
}
