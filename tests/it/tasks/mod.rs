//! Tasks and their files: made, completed, changed, finished, and as people edit them.

mod actions;
mod adoption;
mod archive;
mod completion;
mod completion_refusals;
mod creation;
mod dispatch;
mod hostile_input;
mod lossless_edits;
mod manual_edits;
mod moved_files;
mod numbers;
mod stale_files;
mod time_limits;
mod viewing;
