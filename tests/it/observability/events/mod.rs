//! The event stream.

mod branches;
mod contents;
mod stream_file;
