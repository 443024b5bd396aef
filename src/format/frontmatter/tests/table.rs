//! Hand-written files.
