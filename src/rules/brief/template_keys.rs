//! Which values a workflow's texts ask for, by the names under which they ask.

use crate::domain::{Brief, BriefText, Duty};
use crate::rules::brief::template::Template;

/// Returns the names that the brief asks for, each once, in the order of the texts.
pub fn reads(duty: &Duty) -> Vec<String> {
    let Brief { entry, reentry } = &duty.brief;
    let mut names = Vec::new();
    for text in texts(entry).into_iter().chain(texts(reentry)) {
        for name in asked_for(text) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Returns the names that one text asks for. A text that is no template has been refused when the rules were read.
pub fn asked_for(text: &str) -> Vec<String> {
    let template = Template::parse(text).ok();
    template
        .iter()
        .flat_map(Template::references)
        .map(|reference| reference.name().to_owned())
        .collect()
}

fn texts(brief: &BriefText) -> Vec<&str> {
    let BriefText { role, expectations, outcomes, tips, instructions } = brief;
    let lists = expectations.iter().chain(tips).flatten();
    let meanings = outcomes.iter().map(|(_, text)| text);
    role.iter().chain(instructions).chain(lists).chain(meanings).map(String::as_str).collect()
}
