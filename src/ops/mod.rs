//! The only floor that joins rules and disk: every door calls these operations.
