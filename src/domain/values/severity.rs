//! How bad something is that is said about a file.

use super::word_enum::words;

words!(
    /// How bad it is; the worst last.
    Severity, "a severity", {
        /// Worth knowing.
        Note = "note",
        /// Somebody will be surprised.
        Warning = "warning",
        /// It cannot come into force.
        Error = "error",
    }
);
