//! Setting up: the place of a project, in clones and on branches.

mod clones;
mod migrate_branch;
