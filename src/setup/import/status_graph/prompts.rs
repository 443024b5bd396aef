//! The prompts of edges: Mustache and Liquid slots as ours.

use std::collections::BTreeSet;

use crate::setup::import::placeholders::{Slot, is_bare, rewritten};
use crate::setup::import::record::Said;
use crate::setup::import::workflow_draft::tidy;

/// Returns the prompt with slots of ours. Keys that are not in `own` are put into `missing`: the input has to have them.
pub(crate) fn prompt(
    said: &Said<'_>,
    own: &dyn Fn(&str) -> bool,
    missing: &mut BTreeSet<String>,
) -> String {
    let (text, at) = (&said.value, &said.at);
    let mut notes: Vec<(String, String)> = Vec::new();
    let converted = rewritten(text, |inner| {
        let (name, filters) =
            inner.split_once('|').map_or((inner, ""), |(name, filters)| (name.trim(), filters));
        let name = name.strip_prefix('&').unwrap_or(name).trim();
        if !is_bare(name) {
            notes.push((inner.to_owned(), "left as it stands: it is no key".to_owned()));
            return Slot::Literal;
        }
        for filter in filters.split('|').filter(|filter| !filter.trim().is_empty()) {
            let filter = filter.split(':').next().unwrap_or_default().trim();
            let note = match filter {
                "join" => "`join` is not needed: a list is shown as lines".to_owned(),
                _ => format!("there is no filter `{filter}`: the value is shown as it is"),
            };
            notes.push((inner.to_owned(), note));
        }
        if !own(name) {
            missing.insert(name.to_owned());
        }
        Slot::Name(name.to_owned())
    });
    for (slot, note) in notes {
        at.slot(&slot).dropped(note);
    }
    if text.contains("{%") {
        at.dropped("Liquid's `{% ... %}` is not carried out: it stands there as text");
    }
    tidy(&converted)
}
