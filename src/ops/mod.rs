//! The only floor that joins rules and disk: every door calls these operations, and there is no second way to change a task.
//!
//! One change goes: read -> decide (pure) -> lock -> prepare -> write -> commit -> settle (DESIGN section 6). `transaction`
//! is that path; the other modules say what is to be decided, or only read.

mod acts;
mod adopt;
mod agents;
mod archived;
mod astray;
mod attention;
mod author;
mod automatic;
mod because;
mod beginning;
mod branch;
mod brief;
mod brief_text;
mod changed;
mod checkout;
mod complete;
mod copies;
mod create;
mod deliver;
mod dependencies;
mod diff;
mod doctor;
mod edit;
mod ended_visit;
mod error;
mod events;
mod evidence;
mod files;
mod following;
mod gates;
mod git_points;
mod git_words;
mod goes_on;
mod hand_out;
mod happened;
mod header;
mod headers;
mod heal;
mod history;
mod import;
mod in_force;
mod index_behind;
mod init;
mod left_out;
mod line_ends;
mod list;
mod meant;
mod mending;
pub mod merge;
pub mod merge_driver;
mod message;
mod metrics;
mod migrate;
mod misplaced;
mod monitoring;
mod names;
mod next;
mod notices;
mod openings;
mod places;
mod refused;
mod reload;
mod renamed;
mod rule_check;
mod rule_files;
mod rule_points;
mod rule_sources;
mod run_out;
mod settle;
mod side_by_side;
mod signing;
mod stand;
mod standing;
mod startable;
mod stations;
mod stats;
mod status;
mod stayed;
mod sweep;
mod sync;
mod take;
mod taken_back;
mod task_points;
mod terms;
mod together;
mod touched;
mod transaction;
mod unclosed;
mod unmerged;
mod verify;
mod view;
mod waiting;
mod way_back;
mod why;
mod word;
mod workflow;
mod workload;
mod workspace;

pub use acts::{assign, cancel, hold, override_to, release, renew, reopen, unblock};
pub use adopt::{Seen, Tended, tend};
pub use agents::{Wired, WiredFile, Wiring, agents_to_wire, wire_agents};
pub use attention::Attention;
pub use author::{acting_agent, viewer};
pub use branch::init_on_branch;
pub use brief::{brief_of, brief_value, briefed};
pub use brief_text::{brief_markdown, output_lines, verdict_in_words};
pub use changed::{changed_value, ended, warnings_value, way};
pub use checkout::Patience;
pub use complete::{Completed, add_text, complete, note_run};
pub use create::{NewTask, check_new, create, new_from};
pub use deliver::{Delivered, Recipient, deliver, leftovers, resume};
pub use diff::{Fate as TaskFate, Prospect, RulesDiff, Turn, diff_rules};
pub use doctor::{Complaint, Outcome, Treated, Weight, doctor_value, examine, leave, treat};
pub use edit::{Comment, Fields, Manuscript, comment, edit_fields, edit_text, open_manuscript};
pub use error::{Kind, OpsError, reason_of};
pub use events::{
    EventCount, EventReader, Rebuilt, StreamLine, WantedEvents, are_events_kept, catch_up_events,
    event_counts, keep_events, rebuild_events,
};
pub use evidence::{Evidence, evidence};
pub use following::{Following, following};
pub use gates::{GateReport, GateRow, gate_report_value, gate_status};
pub use git_words::GitWords;
pub use hand_out::{Dependent, Exhausted, Given, HandedOut, hand_out, hands_out};
pub use happened::Left;
pub use header::{Header, NEW, Part, header_value, time};
pub use headers::{Listing, Unreadable, unreadable_value};
pub use history::{HistoryView, history, history_value};
pub use import::{Brought, Fidelity, bring_in, read_foreign, roles_snippet};
pub use in_force::{InForce, Remark};
pub use index_behind::{IndexSeen, tend_index};
pub use init::{Begun, NewProject, Pointed, init};
pub use list::{Filter, Sort, list};
pub use meant::Heard;
pub use metrics::{Numbers, numbers};
pub use migrate::{Migrated, add_gates};
pub use monitoring::{Equipment, Monitored, add_monitoring, monitoring_to_add};
pub use names::{known_names, known_worker, workflow_named};
pub use next::{Besides, Claim, Next, Wanted, claimed, next};
pub use notices::{
    Outgoing, OutgoingStanding, Put, Receiver, Round, Tried, deliver_channel, deliver_notices,
    forget_dropped, outgoing, outgoing_value, put_out, receivers,
};
pub use openings::{Opening, claim, left_behind, openings};
pub use reload::{RulesReport, Since, rules_report};
pub use rule_check::{check_committed, check_worktree};
pub use rule_sources::rules_mark;
pub use run_out::{RanOut, run_out};
pub use settle::{Settled, settle_rules};
pub use signing::{Signing, complete_signed, completion_in, sign_file, what_to_sign};
pub use startable::{startable, workflows_value};
pub use stats::{
    AgentStats, Direction, GateStats, Loops, MANY_PASSES, Question, Share, Span, Spread, Stats,
    TagStats, Tally, Trend, Week, stats, stats_value,
};
pub use status::{Overview, overview, overview_value};
pub use sweep::{Swept, sweep};
pub use sync::{
    End, Errand, First, Left as LeftToGit, Line, Loss, RemoteStanding, Strangers, Synced, Wish,
    is_cut_off, owed_to_remote, sync, sync_and_hand_out, sync_value,
};
pub use take::take;
pub use taken_back::{BranchSeen, PutBack, Retaken, tend_branch};
pub use transaction::{Changed, DryRun};
pub use unclosed::unclosed;
pub use verify::{
    Broken, From as VerifiedFrom, Past, ProjectFolder, Pushed, Range, Update, Verified, Wrong,
    pushed_value, verified_value, verify, verify_pushed,
};
pub use view::{View, frozen, is_drifted, show, task_value, who, who_at};
pub use why::{Consequence, Effect, Reason, reason_value, why};
pub use workflow::{Fate, NewWorkflow, WorkflowFile, create_workflow};
pub use workload::{Work, Workload, workload};
pub use workspace::{Aside, Clock, Network, Seed, Tell, Workspace, warn_in_log};
