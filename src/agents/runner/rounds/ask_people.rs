//! A gate for people: the audience is asked, and its answer completes the visit. What is refused is asked again; without an answer
//! the run ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::find_work::{LOOK, Rounds, TICK};
use crate::agents::runner::news::{News, Waits, Why};
use crate::agents::runner::request::{Asked, Audience, Refused};
use crate::dispatch::openings::openings;
use crate::domain::Completion;
use crate::git::Asking;
use crate::project::error::error::OpsError;
use crate::rules::RefusalKind;
use crate::tasks::apply::change::DryRun;
use crate::tasks::signing::{Signing, complete_signed};
use crate::tasks::view::brief::briefed;
use crate::tasks::view::changed::ended;
use crate::tasks::view::task_view::show;

/// What came of asking.
pub(crate) enum Answered {
    /// It counts.
    Said,
    /// The place has moved on by itself.
    Overtaken,
    /// Nobody said anything.
    Later,
}

impl Rounds<'_> {
    /// Asks whoever sits at the other end about a gate for people.
    pub(crate) fn ask(
        &mut self,
        waits: &[Waits],
        stop: &AtomicBool,
        audience: &mut dyn Audience,
    ) -> Result<Answered, OpsError> {
        for wait in waits.iter().filter(|wait| wait.why == Why::People) {
            let mut refused = None;
            loop {
                self.workspace = self.project.open()?;
                let (view, in_force) = show(&self.workspace, &wait.ticket.task)?;
                let open = openings(&in_force.rules, &view.file.task);
                let Some(opening) = open.iter().find(|opening| opening.ticket == wait.ticket)
                else {
                    // It moved on while somebody thought about the answer.
                    if refused.is_some() {
                        return Ok(Answered::Overtaken);
                    }
                    break;
                };
                let (file, context, _) = briefed(&self.workspace, &wait.ticket)?;
                let asked = Asked {
                    opening,
                    file: &file,
                    path: &view.path,
                    context: &context,
                    refused: refused.as_ref(),
                };
                let Some(completion) = audience.decide(&asked) else { break };
                match self.say(wait, completion, stop, audience)? {
                    Ok(answered) => return Ok(answered),
                    Err(why) => refused = Some(why),
                }
            }
        }
        Ok(Answered::Later)
    }

    /// Hands in what somebody said. What stands in the way for a while is waited for; what is refused is theirs to mend.
    fn say(
        &mut self,
        wait: &Waits,
        completion: Completion,
        stop: &AtomicBool,
        audience: &mut dyn Audience,
    ) -> Result<Result<Answered, Refused>, OpsError> {
        let remark = |text: String| News::remark(&wait.ticket, text);
        let mut told = false;
        loop {
            self.workspace = self.project.open()?;
            // Whoever answers at the terminal is asked for a passphrase there, too.
            let signing = Signing { key_file: None, asking: Asking::Terminal };
            let mut done = None;
            let workspace = &self.workspace;
            audience.aside(&mut || {
                done = Some(complete_signed(workspace, &completion, signing, DryRun::No));
            });
            let Some(done) = done else { return Ok(Ok(Answered::Later)) };
            match done {
                Ok(done) => {
                    let rules = self.workspace.rules()?.rules;
                    let last = ended(&done.changed).last().cloned();
                    let task = &done.changed.after.task;
                    let (ticket, from) = (&wait.ticket, &wait.station);
                    let took = Duration::ZERO;
                    audience.hear(&News::moved(&rules, ticket, from, last.as_ref(), task, took));
                    self.visits += 1;
                    return Ok(Ok(Answered::Said));
                }
                Err(OpsError::Refused(refusal)) if refusal.kind() == RefusalKind::Conflict => {
                    let why = OpsError::Refused(refusal);
                    audience.hear(&remark(format!("what was said came too late: {why}")));
                    return Ok(Ok(Answered::Overtaken));
                }
                Err(OpsError::Refused(refusal)) => {
                    let fix = self.workspace.git_words.said(refusal.fix());
                    let why = OpsError::Refused(refusal).to_string();
                    return Ok(Err(Refused { completion, why, fix }));
                }
                Err(OpsError::Unfit { code: "cannot_sign", problem, fix }) => {
                    let fix = self.workspace.git_words.said(fix);
                    return Ok(Err(Refused { completion, why: problem, fix }));
                }
                Err(error) if error.passes() => {
                    if !told {
                        told = true;
                        audience.hear(&remark(format!("{}; it is tried again", error.problem())));
                    }
                    let began = Instant::now();
                    while began.elapsed() < LOOK {
                        if stop.load(Ordering::Relaxed) {
                            return Ok(Ok(Answered::Later));
                        }
                        audience.tick();
                        thread::sleep(TICK);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}
