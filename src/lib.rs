//! `aof`: task files are the database, gates are the state machine, git is the log.
//!
//! # Words
//! A *task* is at a *gate* of a *workflow*. An agent *completes* the *visit* with an *outcome*; a *route* leads the task to
//! the next gate. A *claim* gives a visit to one agent. A *brief* has the instructions for an agent at a gate. A *refusal* is
//! the answer of the rules to an act that they do not allow. A *notice* is a message to a person or a program about an *event*.
//!
//! # Layers
//! A folder imports only from folders below it; `tests/it/house/architecture.rs` proves that. The layers below `storage` are crates of
//! their own.
//!
//! | folder | contents |
//! |---|---|
//! | `cli` | parses arguments, calls one operation, renders the result; starts the other doors |
//! | `watch`, `agents`, `board` | the watcher; the MCP server and the runner; the board at the terminal |
//! | `operations` | the table of operations: name, fields, doors, effect, and the function that runs each |
//! | `health`, `setup`, `dispatch` | status and doctor; init, templates and imports; claims, hand-outs and the sweep |
//! | `observability` | the event stream, notices, metrics, statistics |
//! | `history` | operations that read or join commits: verify, merge, sync |
//! | `tasks` | use cases of tasks; `tasks::apply` is the only way to change a task |
//! | `project` | an opened project: workspace, rules in force, errors |
//! | `storage`, `git` | files, lock, journal, inbox; the git repository |
//! | `rules`, `files` | pure decisions; bytes to nouns and back. Neither sees the other |
//! | `domain` | the definitions of a task, a visit, a gate, a completion |
//! | `system` | waits for the disk, other people's programs, signals |
//!
//! # Files
//! | on disk | module |
//! |---|---|
//! | `project.yaml`, `org.yaml`, `workflows/` | `files::config`; `setup` creates them, and adds the roles of an import to `org.yaml` |
//! | `tasks/**/AOF-abc.md` | `files::task_file` (contents), `storage::task_files` (location) |
//! | `.aof/inbox`, `.aof/refused` | `storage::inbox` |
//! | `.aof/lock`, `.aof/intent` | `storage::lock`, `storage::journal` |
//! | `.aof/cache`, `.aof/text` | `storage::header_cache` (form), `tasks::headers` (contents) |
//! | `.aof/seen` | `tasks::headers::mentions` |
//! | `.aof/outbox` | `storage::outbox` |
//! | `.aof/contact`, `.aof/archive`, `.aof/horizon`, `.aof/boot` | `storage::header_cache` |
//! | `.aof/branch`, a worktree | `project::open` |
//! | `.aof/coming_*`, while files are brought in | `git::checkout` |
//! | `.aof/runs` | `storage::runs` |
//! | `.aof/events.jsonl`, `.aof/events` | `storage::event_log` |
//! | `monitoring/` | `setup::monitoring` |
//! | `.gitattributes`, `merge.aof.*` in git's configuration, git hooks | `history::merge_driver` |
//! | the branch, git's index | `git::transaction`, `git::index` |
//!
//! # Invariants
//! A history only grows, by one entry per commit. Nothing is acknowledged before it is committed. A write changes only the bytes
//! that the change is about. Files that people staged, modified or left untracked are never changed.

pub use aof_domain as domain;
pub use aof_files as files;
use aof_git as git;
pub use aof_rules as rules;
pub use aof_system as system;

pub mod agents;
mod board;
pub mod cli;
mod dispatch;
mod health;
mod history;
pub mod observability;
mod operations;
pub mod project;
pub mod setup;
pub mod storage;
pub mod tasks;
mod watch;
