//! The names of agents and the times on a page, as its frame has them.

use maud::{Markup, html};

use super::layout::PageFrame;
use super::parts::{initials, moment};
use crate::board::model::columns::name_among;
use crate::domain::{AgentId, Timestamp};
use crate::tasks::view::phrases;

impl PageFrame {
    /// Returns the name of an agent, as in `phrases::name`.
    pub(super) fn name<'a>(&self, agent: &'a AgentId) -> &'a str {
        name_among(agent, &self.full_names)
    }

    /// Returns the sign and the name of somebody: of an agent, else of an author whom only a name is known of.
    pub(super) fn doer<'a>(
        &self,
        agent: Option<&'a AgentId>,
        author: &'a str,
    ) -> (Markup, &'a str) {
        match agent {
            Some(agent) => (self.avatar(agent), self.name(agent)),
            None => (
                html! { span.who role="img" aria-label=(author) title=(author) { (initials(author)) } },
                author,
            ),
        }
    }

    /// Returns the sign of an agent: people are round, programs are square.
    pub(super) fn avatar(&self, agent: &AgentId) -> Markup {
        let name = self.name(agent);
        html! {
            span class={ "who" @if !agent.is_human() { " agent" } } role="img" aria-label=(name) title=(name) { (initials(name)) }
        }
    }

    /// Returns the time that has passed, for a table.
    pub(super) fn short_age(&self, at: Timestamp) -> Markup {
        self.time(at, &phrases::short_age(at, self.at))
    }

    /// Returns a time in a sentence, as in `33 min ago`.
    pub(super) fn ago(&self, at: Timestamp) -> Markup {
        self.time(at, &phrases::ago(at, self.at, &self.zone))
    }

    /// Returns the clock time of an entry below the heading of its day.
    pub(super) fn clock(&self, at: Timestamp) -> Markup {
        let shown = at.to_zoned(self.zone.clone()).strftime("%H:%M").to_string();
        html! { time.clock datetime=(moment(at)) title=(moment(at)) { (shown) } }
    }

    /// Returns a time. A page that nobody renews shows the day in place of an age.
    fn time(&self, at: Timestamp, live: &str) -> Markup {
        let shown = match self.you {
            Some(_) => live.to_owned(),
            None => at.to_zoned(self.zone.clone()).strftime("%b %-d, %H:%M").to_string(),
        };
        html! { time datetime=(moment(at)) title=(moment(at)) { (shown) } }
    }
}
