//! Whole projects, from their files to nouns, and the faults of those that cannot be read.

mod broken;
mod faults;
mod nouns;
mod places;
mod workflows;

use super::*;
use crate::diagnostic::{ColorMode, render_all};

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), bytes: text.as_bytes().to_vec() }
}

fn read(files: &[(&str, &str)]) -> Result<Configuration, Vec<Diagnostic>> {
    load(&files.iter().map(|(name, text)| source(name, text)).collect::<Vec<_>>())
}

/// Returns the file of a place, and its byte range.
fn located<'c>(configuration: &'c Configuration, at: &ConfigPlace) -> (&'c str, Range<usize>) {
    let (file, span) = configuration.span(at, None);
    (file.map_or(default_file(at), |file| file.name.as_str()), span)
}

fn good(files: &[(&str, &str)]) -> Configuration {
    read(files).unwrap_or_else(|found| panic!("{}", render_all(&found, ColorMode::Plain)))
}

fn bad(files: &[(&str, &str)]) -> String {
    render_all(&read(files).unwrap_err(), ColorMode::Plain)
}

fn workflow(name: &str) -> WorkflowName {
    name.parse().unwrap()
}

const PLANTS: &str = r#"
project: {name: Botanical garden, idPrefix: BG, owner: Ada}
workflow:  # how a plant gets its bed
  name: planting
  description: From the seed to the label
  defaultOutcome: "complete"
  rejectionStrategy: origin
  gates:
    - id: grow
      role: gardener
      description: "Grow it in the greenhouse"
      timeout: 2h
      escalateTo: head-gardener
    - id: inspect
      role: botanist
      canReject: true
      when: "!tags.includes('known') || metadata.rarity > 3"
      onConditionError: enter
      timeout: 1h30m
      escalateTo: head-gardener
      brief:
        role: You know plants
        expectations: [Check the leaves, Check the roots]
        outcomes: {complete: It is healthy, needs_review: It needs more care}
        tips: Use a lens
        instructions: |
          Look first.
          Then write.
        reentry:
          expectations: ["Check what was found: all of it"]
      metadata: {bed: 7, tools: [lens]}
    - id: label
      role: po
      canSkip: false
      requireHuman: true
      timeout: 1h
      escalateTo: director
  outcomes:
    complete: advance
    needs_review: reject
    blocked: hold
    skip: advance
tasks: {layout: sharded}
watch: {commitEdits: false}
git: {sync: true, remote: upstream, branch: team/tasks, every: 5m}
"#;
