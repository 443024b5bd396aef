//! An interrupted checkout finished or undone.

pub(crate) mod each;
pub(crate) mod indexed;
pub(crate) mod look;
pub(crate) mod odd;
pub(crate) mod recovery;
pub(crate) mod standing;
pub(crate) mod table;
