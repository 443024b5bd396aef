//! The rules as tables, and what must hold for every history.

mod completions;
mod people;
mod property;
mod random_routes;
mod replay;
mod routes;
mod validation;
mod ways;
mod world;
