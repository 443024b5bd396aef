//! The view model of the boards: columns and cards of a project, kept up to date with its files.

pub(crate) mod act;
pub(crate) mod activity;
pub(crate) mod columns;
pub(crate) mod decisions;
pub(crate) mod drawing;
pub(crate) mod feed;
pub(crate) mod figures;
pub(crate) mod keys;
pub(crate) mod live;
pub(crate) mod page;

#[cfg(test)]
mod tests;
