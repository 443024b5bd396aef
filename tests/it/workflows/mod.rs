//! Workflows and the rules: what they say, where they come from, and what happens when they change.

mod acceptance;
mod children;
mod cookbook;
mod fork_branches;
mod forks;
mod graph;
mod import;
mod inputs_and_outputs;
mod loops;
mod migration;
mod prove;
mod routes;
mod rule_changes;
mod rules_in_force;
mod templates;
