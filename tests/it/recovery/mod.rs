//! Kills, power cuts, failures and races: what is left is finished or taken back.

#[cfg(debug_assertions)]
mod changes_after_kill;
mod commits_after_kill;
mod concurrency;
mod failed_rollback;
#[cfg(debug_assertions)]
mod kill_points;
mod local_obstacles;
#[cfg(debug_assertions)]
mod power_cuts;
