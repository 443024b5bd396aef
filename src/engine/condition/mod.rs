//! `when` expressions.
