//! What `aof status` tells as well, with why it matters. What is the work's own, as a blocked task, is not for here.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::domain::issue::Attention;
use crate::health::doctor::{Complaint, Patient};
use crate::health::points::duplicate_files;
use crate::tasks::apply::change::DryRun;
use crate::tasks::automatic::rule_changes::settle_rules;
use crate::tasks::recovery::recover::heal_if_pending;

/// How long each batch waits for the lock.
const WAIT: Duration = Duration::from_secs(10);

pub(crate) fn look(patient: &Patient<'_>) -> Vec<Complaint> {
    let doubled: Vec<String> = duplicate_files::doubled(patient.workspace)
        .into_values()
        .flatten()
        .map(|path| path.to_string())
        .collect();
    let waits = |code: &str| matches!(code, "inbox_waiting" | "inbox_kept_back");
    let inbox_waits = patient.overview.attention.iter().any(|point| waits(point.code));
    let told = patient.overview.attention.iter().filter(|point| match point.code {
        // The doctor looks through the whole archive for what is misplaced or has two files, names all companions that stayed and all
        // that is staged, looks at what was refused where there are no rules, too, and tells more of locks, the driver, the index and
        // who commits.
        "task_blocked"
        | "task_overdue"
        | "task_misplaced"
        | "task_doubled"
        | "companions_stayed"
        | "refused_waiting"
        | "task_staged"
        | "git_locked"
        | "merge_driver_missing"
        | "index_behind"
        | "task_taken_out"
        | "taken_back"
        | "no_identity" => false,
        // Commands work without one; dropped files do not.
        "no_watcher" => inbox_waits,
        // They are told of as what they are.
        "unreadable_task" => !doubled.iter().any(|path| point.problem.contains(path.as_str())),
        _ => true,
    });
    told.map(complaint).collect()
}

fn complaint(point: &Attention) -> Complaint {
    let told =
        Complaint::wrong(point.code, point.problem.clone(), why(point.code), point.fix.clone());
    match point.code {
        "unfinished_write" => {
            Complaint { fix: format!("{}; `aof doctor --fix` does", point.fix), ..told }
                .cured_by(|workspace| heal_if_pending(workspace).map(drop))
        }
        "rules_not_followed" => {
            Complaint { fix: format!("{}, and so does `aof doctor --fix`", point.fix), ..told }
                .cured_by(|workspace| {
                    let settled = settle_rules(workspace, WAIT, DryRun::No, &mut |_| {
                        ControlFlow::Continue(())
                    })?;
                    settled.troubled.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
                })
        }
        _ => told,
    }
}

const fn why(code: &str) -> &'static str {
    match code.as_bytes() {
        b"own_folder_in_git" => {
            "whoever commits files there could act for everybody who has the branch, so no command changes anything"
        }
        b"git_fails" => "nothing is changed before it is known what git has in `.aof`",
        b"index_unreadable" => "git itself cannot go by it, and no command can commit",
        b"git_busy" => "no command can commit until that is over",
        b"rules_not_committed" => "you see other rules than those that decide",
        b"workflow_config_invalid" => "the rules that people see are not those that decide",
        b"no_rules" => "whoever likes completes any task, those for people too",
        b"inbox_unreadable" => "what an agent says there is not taken",
        b"rules_not_followed" => "somebody may work on what is not theirs any more",
        b"task_unmerged" => {
            "nothing can be committed until it is settled, and what is added unsolved is lost for one side"
        }
        b"task_stranded" => "without its workflow it can go nowhere",
        b"dependency_circle" | b"dependency_missing" => "it will never be handed out",
        b"unreadable_task" => "no command can touch the task, and nobody is given it",
        b"tasks_left_out" => "nobody is given them here, and no command can touch them",
        b"task_missing" => {
            "a task that has no file is not worked on, and HEAD says that it is there"
        }
        b"task_left_behind" => {
            "whoever clones this has the task at both places, and where it ended at one it goes on at the other"
        }
        b"task_frozen" => "no command touches the task, so that nothing is overwritten",
        b"archive_changed" => {
            "the archive shows what was done, and the next `git commit -a` takes the change along"
        }
        b"not_adopted" => "a task that stands at no gate is nobody's work",
        b"not_committed" => "what is not committed is in no history, and in no other clone",
        b"inbox_astray" => "somebody did work that will never count",
        b"inbox_waiting" | b"inbox_kept_back" => {
            "what an agent said does not count until it is taken"
        }
        b"no_watcher" => "nobody takes what is dropped into the inbox",
        b"notices_failing" | b"notices_dropped" => {
            "somebody waits for a message that does not come"
        }
        b"unfinished_write" => "until it is finished, a file may be ahead of what is committed",
        _ => "it needs somebody's attention",
    }
}
