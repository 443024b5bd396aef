//! The small parts of pages: drawings, tags, priorities and states.

use maud::{Markup, PreEscaped, html};

use crate::board::model::columns::Card;
use crate::domain::{CompletionId, Priority, Ticket, Timestamp};
use crate::tasks::view::phrases::{self, TurnKind};

/// The drawings that pages refer to.
const ICONS: &str = include_str!("../web/assets/icons.svg");

/// The number of tags of a task that cards and lists show.
const TAGS: usize = 2;

const HUES: [&str; 6] = ["violet", "blue", "teal", "pink", "olive", "slate"];

/// Returns the sheet of all drawings, once for each page.
pub(super) fn icons() -> Markup {
    PreEscaped(ICONS.to_owned())
}

/// Returns a drawing beside words that say the same.
pub(super) fn icon(name: &str) -> Markup {
    html! { svg class="i" aria-hidden="true" { use href={ "#i-" (name) } {} } }
}

/// Returns a drawing that stands for a word.
pub(super) fn sign(name: &str, class: &str, word: &str) -> Markup {
    html! { svg class={ "i " (class) } role="img" aria-label=(word) { use href={ "#i-" (name) } {} } }
}

/// Returns the three bars of a priority; nothing for the usual one.
pub(super) fn bars(priority: Priority) -> Markup {
    let word = phrases::priority(priority);
    html! {
        @if priority != Priority::Medium {
            svg class={ "bars " (priority) } role="img" aria-label=(word) { title { (word) } use href="#i-bars" {} }
        }
    }
}

/// Returns the drawing of a task's state: its name, its class, and the word.
pub(super) fn state(card: &Card) -> Markup {
    let (name, word) = match card.state {
        _ if card.held => ("stop", "held"),
        "in_progress" => ("half", "in progress"),
        "waiting" => ("wait", "waiting"),
        "blocked" => ("stop", "blocked"),
        "complete" => ("done", "done"),
        "cancelled" => ("fail", "cancelled"),
        "failed" => ("fail", "failed"),
        other => ("ready", other),
    };
    sign(name, &format!("state {name}"), word)
}

/// Returns the class of a tag's hue. It hangs on the tag alone, so that it is the same everywhere.
pub(super) fn hue(tag: &str) -> &'static str {
    let sum = tag.bytes().fold(5_381_u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(byte));
    HUES[sum as usize % HUES.len()]
}

pub(super) fn tag(text: &str) -> Markup {
    html! { span class={ "tag " (hue(text)) } title=[(text.chars().count() > 14).then_some(text)] { (text) } }
}

/// Returns the first tags, and the number of the others.
pub(super) fn tags(all: &[String]) -> Markup {
    html! {
        @for text in all.iter().take(TAGS) { (tag(text)) }
        @if all.len() > TAGS { span.muted { "+" (all.len() - TAGS) } }
    }
}

/// Returns the class for whose turn it is.
pub(super) const fn turn_class(kind: TurnKind) -> &'static str {
    match kind {
        TurnKind::Stopped => "stopped",
        TurnKind::You => "you",
        TurnKind::Taken | TurnKind::Open | TurnKind::Ended => "",
    }
}

/// Returns the class of a due date.
pub(super) fn due_class(card: &Card) -> &'static str {
    match &*card.words.due {
        _ if card.overdue => "late",
        "today" => "soon",
        _ => "",
    }
}

/// Returns two letters of a name: of its first two words, or its first two.
pub(super) fn initials(name: &str) -> String {
    let mut words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    let second = words.next().and_then(|word| word.chars().next());
    let letters: String = match second {
        Some(letter) => first.chars().take(1).chain([letter]).collect(),
        None => first.chars().take(2).collect(),
    };
    letters.to_uppercase()
}

/// Returns the sign of somebody for whom a task is planned: a ring.
pub(super) fn planned(name: &str) -> Markup {
    let name = name.trim_start_matches("human-");
    let words = format!("planned for {name}");
    html! { span.who.planned role="img" aria-label=(words) title=(words) { (initials(name)) } }
}

/// Returns a time to the second, in the format of files.
pub(crate) fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns the id of the form of an outcome on the page of a task.
pub(super) fn form_id(ticket: &str, outcome: &str) -> String {
    format!("say-{}-{outcome}", ticket.replace(['@', '/', '.'], "-"))
}

/// Returns the id of a completion without a form: the same for each click on the same visit, so that it counts once.
pub(super) fn quick_id(ticket: &Ticket, outcome: &str) -> CompletionId {
    let text = format!("web-{ticket}-{outcome}");
    let letters = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(128);
    letters.collect::<String>().parse().expect("it has letters and hyphens alone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_two_letters() {
        for (name, letters) in
            [("ann", "AN"), ("bot-plan", "BP"), ("é", "É"), ("agent-9", "A9"), ("李-雷", "李雷")]
        {
            assert_eq!(initials(name), letters);
        }
    }

    #[test]
    fn the_hue_of_a_tag_is_one_of_six() {
        for tag in ["", "ui", "日本語", &"x".repeat(1000)] {
            assert!(HUES.contains(&hue(tag)));
        }
    }
}
