//! The tests that go through the binary: real processes, real git, whole outputs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail where it stands")]
#![allow(clippy::format_collect, reason = "texts of tests are short")]
#![allow(clippy::too_many_lines, reason = "a story with its whole outputs is one test")]

mod agent_files;
mod agents;
mod architecture;
mod archiving;
mod checker;
mod clocks;
mod cookbook;
mod damaged;
mod damaged_files;
mod dispatch;
mod doctor;
mod editors;
mod environment;
mod events;
mod fork_checker;
mod forks;
mod git_states;
mod graph;
mod hand_made;
#[cfg(debug_assertions)]
mod healing;
mod hostile;
mod inbox;
#[cfg(debug_assertions)]
mod kill_scene;
#[cfg(debug_assertions)]
mod kills;
mod left_out;
mod line_ends;
mod local_folder;
mod logs;
mod lossless;
mod mcp_client;
mod mcp_protocol;
mod mcp_refusals;
mod mcp_stops;
mod mcp_tools;
mod mcp_wiring;
mod merge_crossing;
mod merge_left;
mod merge_messages;
mod merge_places;
mod merge_replayed;
mod merge_strangers;
mod merges_judged;
mod merging;
mod metrics;
mod midflight;
mod migrate;
mod monitoring;
#[cfg(debug_assertions)]
mod notices;
mod numbers;
mod overtaken;
mod overview;
mod own_branch;
mod own_branch_folder;
mod own_folder;
mod own_project;
mod people;
#[cfg(debug_assertions)]
mod power_cuts;
mod pushed;
mod put_back;
mod races;
mod reading;
mod regressions;
mod renamed;
mod routes;
mod rules;
mod running;
mod running_attempts;
mod running_choices;
mod running_input;
mod running_starts;
mod running_stops;
mod running_terminal;
mod running_verdicts;
mod running_workflows;
mod signature_checker;
mod signer;
mod signing;
mod sorted_archive;
mod stats;
mod stepping_in;
mod stopped_commits;
mod syncing;
mod syncing_finish;
mod syncing_hands;
mod syncing_hostile;
mod syncing_kinds;
mod syncing_odd;
mod syncing_torture;
mod taken_back;
mod task_complete;
mod task_new;
mod templates;
mod texts;
mod verify;
mod waiting;
mod waiting_visits;
mod walker;
mod watch;
mod webhooks;
mod workflow_import;

use std::path::Path;

#[test]
fn every_file_of_this_folder_is_a_part_of_the_suite() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(folder.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") else {
            continue;
        };
        let line = format!("mod {module};");
        assert!(
            main.lines().any(|known| known == line),
            "tests/it/{name} is forgotten: add `{line}` to main.rs"
        );
    }
}
