//! The presets that files name instead of writing steps: what they are called there, told in our own words.

use crate::setup::import::workflow_draft::RunDraft;

/// A step, of the file or of a preset.
#[derive(Default)]
pub(crate) struct OrbitalStep {
    pub(crate) foreign: String,
    pub(crate) gate: String,
    pub(crate) instructions: Option<String>,
    pub(crate) run: RunDraft,
    pub(crate) judges: bool,
    pub(crate) deferred: bool,
    pub(crate) on_fail: Option<String>,
}

/// The presets whose steps are known.
pub(crate) const PRESETS: [&str; 4] = ["fast", "reviewed", "tdd", "autonomous"];

/// The step that settles what a review found.
pub(crate) const ADDRESS_REVIEW: &str = "address-review";

const ADDRESS: &str = "A review found faults. Settle each of them, and only them:

- read what the review says; it is told with this task
- mend the place that it names, and check that it is mended
- run the tests
- write down what you changed

Begin nothing new, and tick off nothing in {{files}}.
";

const REVIEW: &str = "Review everything that changed. You are here to find faults, not to be polite.

Look at it from each of these sides, one after the other: safety against misuse, design, logic and edge cases,
handling of errors, consistency of data. Write down what you found from each.

If there is any fault, however small, end with <gate>FAIL</gate> and list the faults below it.
Only if there is none, end with <gate>PASS</gate>.
";

const NEXT_ITEM: &str = "Carry out the next open item of {{files}}, with tests, and tick it off.\n";

/// Returns the steps of a preset; none for one that is not known.
pub(crate) fn preset(name: &str) -> Vec<OrbitalStep> {
    let address = || step(ADDRESS_REVIEW, ADDRESS);
    let all = "Carry out as much of {{files}} as you can in one go, with tests, and tick off what is done.\n";
    match name {
        "fast" => vec![step("implement", all), address(), review(ADDRESS_REVIEW)],
        "reviewed" => vec![step("implement", NEXT_ITEM), address(), review(ADDRESS_REVIEW)],
        "tdd" => vec![
            step(
                "red",
                "Write a test for the next open item of {{files}}, run it, and see it fail.\n",
            ),
            step("green", "Write as little as makes the failing test pass, and see it pass.\n"),
            step("refactor", "Make the code clear while every test keeps passing.\n"),
            address(),
            review(ADDRESS_REVIEW),
        ],
        "autonomous" => vec![
            step("implement", NEXT_ITEM),
            OrbitalStep { deferred: true, ..step("fix", ADDRESS) },
            review("fix"),
        ],
        _ => Vec::new(),
    }
}

fn step(name: &str, prompt: &str) -> OrbitalStep {
    OrbitalStep {
        foreign: name.to_owned(),
        gate: name.to_owned(),
        instructions: Some(prompt.to_owned()),
        ..OrbitalStep::default()
    }
}

fn review(on_fail: &str) -> OrbitalStep {
    OrbitalStep { judges: true, on_fail: Some(on_fail.to_owned()), ..step("review", REVIEW) }
}
