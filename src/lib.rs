//! `aof`: task files are the database, gates are the state machine, git is the log.
//!
//! # The house
//! Imports go down only; `tests/it/architecture.rs` proves it.
//!
//! | floor | rooms | what is done there |
//! |---|---|---|
//! | 5 doors | [`cli`], [`mcp`], [`runner`], [`watch`] | translate, call ops, show; never each other's rooms |
//! | 4 operations | [`ops`] | the only place that joins rules and disk |
//! | 3 ground | [`store`], [`audit`], [`observe`] | files, the lock, the inbox; the git repository; telling others |
//! | 2 rules and shapes | [`engine`], [`format`](mod@format) | pure decisions; bytes to nouns and back; they do not see each other |
//! | 1 nouns | [`model`] | what a task, a visit, a gate, a completion is |
//!
//! Four leaves lie below them all: [`stop`], named points at which crash tests stop the process, [`disk`], the wait for files
//! to get there, [`process`], other people's programs, and [`signals`], by which others ask this one to stop.
//!
//! # Files
//! | on disk | read and written by |
//! |---|---|
//! | `project.yaml`, `org.yaml`, `workflows/` | `format::config`; `format::import` (those of other systems); never changed, new ones by `aof init` and `aof workflow import` |
//! | `tasks/**/AOF-abc.md` | `format::task_file` (what it says), `store::tasks` (where it is) |
//! | `.aof/inbox`, `.aof/refused` | `store::inbox` |
//! | `.aof/lock`, `.aof/intent`, `.aof/cache` | `store::lock`, `store::intent`, `store::cache` |
//! | `.aof/outbox` | `store::outbox` |
//! | `.aof/contact`, `.aof/archive` | `store::contact`, `store::archived` |
//! | `.aof/branch`, a worktree | `ops::branch`, `ops::checkout`, `audit` |
//! | `.aof/coming_*`, while files are brought in | `audit::coming` |
//! | `.aof/runs` | `store::runs` |
//! | `.aof/events.jsonl`, `.aof/events` | `store::stream` |
//! | `monitoring/` | `format::monitoring_file`; new ones by `aof init --observability`, never changed |
//! | `.gitattributes`, `merge.aof.*` in git's configuration, the hook `prepare-commit-msg` | `ops::merge_driver`, which adds what is missing |
//! | the branch, git's index | `audit` |
//!
//! # What always holds
//! A history only grows, by one entry a commit. Nothing is acknowledged before it is committed. Nothing of a file changes but
//! what the change is about. What people staged, modified or left untracked stays as it is.

pub mod audit;
pub mod cli;
pub mod disk;
pub mod engine;
pub mod format;
pub mod mcp;
pub mod model;
pub mod observe;
pub mod ops;
pub mod process;
pub mod runner;
pub mod signals;
pub mod stop;
pub mod store;
pub mod watch;
