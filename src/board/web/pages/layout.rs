//! The common parts of all pages: their links, their head, and the form of times and people.

use std::time::Duration;

use maud::{DOCTYPE, Markup, html};

use crate::domain::{AgentId, TaskId, Timestamp, WorkflowName};
use crate::files::printable::{push_inert, reorders};
use crate::system::text::age;

/// The number of entries of a list on a page.
pub(crate) const LISTED: usize = 100;

/// Returns the number of entries that a page leaves out, and the command that shows all.
pub(crate) fn left_out(count: usize, command: &str) -> Markup {
    html! {
        @if count > LISTED { p.more { (count - LISTED) " more: " code { (command) } } }
    }
}

/// The location of the pages of a project: at a server, or as files that link to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageLinks {
    root: String,
    is_live: bool,
}

impl PageLinks {
    /// Returns the links of a project at a server.
    pub(crate) fn at_server(slug: &str) -> Self {
        Self { root: format!("/{slug}"), is_live: true }
    }

    /// Returns the links between files: from the folder of the pages of the whole project, or from a folder in it.
    pub(crate) fn of_files(is_inside: bool) -> Self {
        Self { root: if is_inside { ".." } else { "." }.to_owned(), is_live: false }
    }

    fn file(&self, path: &str) -> String {
        let ending = if self.is_live { "" } else { ".html" };
        format!("{}/{path}{ending}", self.root)
    }

    pub(crate) fn board(&self) -> String {
        if self.is_live { format!("{}/", self.root) } else { self.file("index") }
    }

    /// Returns the link to a page of the whole project.
    pub(crate) fn page(&self, page: NavPage) -> String {
        match page {
            NavPage::Board => self.board(),
            other => self.file(other.path()),
        }
    }

    pub(crate) fn task(&self, id: &TaskId) -> String {
        self.file(&format!("tasks/{id}"))
    }

    pub(crate) fn workflow(&self, name: &WorkflowName) -> String {
        self.file(&format!("workflows/{name}"))
    }

    fn asset(&self, name: &str) -> String {
        let root = if self.is_live { "" } else { &self.root };
        format!("{root}/assets/{name}")
    }
}

/// The pages of a project that each page links to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavPage {
    Board,
    Waiting,
    Activity,
    Statistics,
    Status,
    Verify,
}

impl NavPage {
    pub(crate) const ALL: [Self; 6] =
        [Self::Board, Self::Waiting, Self::Activity, Self::Statistics, Self::Status, Self::Verify];

    /// Returns true if the page shows only what is committed.
    pub(crate) const fn is_of_commit(self) -> bool {
        !matches!(self, Self::Waiting | Self::Status)
    }

    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Board => "",
            Self::Waiting => "waiting",
            Self::Activity => "activity",
            Self::Statistics => "statistics",
            Self::Status => "status",
            Self::Verify => "verify",
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Board => "Board",
            Self::Waiting => "Waiting for you",
            Self::Activity => "Activity",
            Self::Statistics => "Statistics",
            Self::Status => "Attention",
            Self::Verify => "Verify",
        }
    }
}

/// The frame around the content of a page.
#[derive(Debug, Clone)]
pub(crate) struct PageFrame {
    pub links: PageLinks,
    pub slug: String,
    /// The project's name.
    pub project: String,
    /// The slugs of the server's projects.
    pub projects: Vec<String>,
    pub page: Option<NavPage>,
    /// The agent who acts, or the reason why no one does; `None` in pages without a server.
    pub you: Option<Result<AgentId, String>>,
    /// The token that the page's forms must contain.
    pub form_token: String,
    /// The state that the page shows.
    pub version: String,
    /// The time that ages count to.
    pub at: Timestamp,
    pub waiting: usize,
    /// True if people log in by name.
    pub has_logins: bool,
    /// True if a passkey signs completions here.
    pub signs: bool,
    /// The result of the last act, which may be a refusal.
    pub notice: Option<PageNotice>,
}

/// A sentence at the head of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageNotice {
    pub text: String,
    /// The fix, for a refusal.
    pub fix: Option<String>,
    pub is_refusal: bool,
}

impl PageFrame {
    /// Returns true if the page allows acts.
    pub(crate) fn acts(&self) -> bool {
        matches!(self.you, Some(Ok(_)))
    }

    /// Returns a whole page.
    pub(crate) fn page(&self, title: &str, content: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" data-project=(self.slug) data-version=(self.version) {
                (self.head(title))
                body {
                    a.skip href="#content" { "To the content" }
                    (self.top())
                    main #content tabindex="-1" {
                        (self.notices())
                        (content)
                    }
                    footer { p {
                        "aof " (env!("CARGO_PKG_VERSION")) " · "
                        @if self.links.is_live { kbd { "?" } " keys · " }
                        @match &self.you {
                            Some(Ok(you)) => {
                                "you act as " b { (you) } " · "
                                a href=(format!("{}passkey", self.links.board())) { "passkey" }
                            },
                            Some(Err(why)) => { "read-only: " (why) },
                            None => { "as of " (moment(self.at)) },
                        }
                    }
                    @if self.has_logins {
                        form method="post" action="/logout" { button type="submit" { "Log out" } }
                    } }
                }
            }
        }
    }

    fn head(&self, title: &str) -> Markup {
        html! {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · " (self.project) }
                link rel="icon" type="image/svg+xml" href=(self.links.asset("icon.svg"));
                link rel="stylesheet" href=(self.links.asset("board.css"));
                @if self.links.is_live { script src=(self.links.asset("board.js")) defer {} }
            }
        }
    }

    fn top(&self) -> Markup {
        html! {
            header.top {
                @if self.projects.len() > 1 {
                    nav.projects aria-label="Projects" { ul {
                        @for slug in &self.projects {
                            li { a href=(PageLinks::at_server(slug).board()) aria-current=[(*slug == self.slug).then_some("true")] { (slug) } }
                        }
                    } }
                } @else {
                    a.project href=(self.links.board()) { (self.project) }
                }
                nav.pages aria-label="Pages" { ul {
                    @for page in NavPage::ALL {
                        @if self.you.is_some() || page.is_of_commit() {
                            li { a href=(self.links.page(page)) aria-current=[(Some(page) == self.page).then_some("page")] {
                                (page.title())
                                @if page == NavPage::Waiting { " " span.count data-waiting { (self.waiting) } }
                            } }
                        }
                    }
                } }
                @if self.acts() { a.button.new href=(format!("{}/new", self.links.root)) { "New task" } }
            }
        }
    }

    fn notices(&self) -> Markup {
        html! {
            @if let Some(notice) = &self.notice {
                div.notice.refusal[notice.is_refusal] role=(if notice.is_refusal { "alert" } else { "status" }) {
                    p { (prose(&notice.text)) }
                    @if let Some(fix) = &notice.fix { p.fix { (prose(fix)) } }
                }
            }
        }
    }
}

/// Returns the bytes of a page. Characters that reorder a line are made visible, except in fields that forms send back.
pub(crate) fn page_bytes(page: &Markup) -> Vec<u8> {
    /// The begin and the end of a field. Texts and other attributes have neither: their quotes and brackets are escaped.
    const FIELDS: [(&str, &str); 2] = [(" value=\"", "\""), ("<textarea", "</textarea>")];
    let (mut shown, mut rest) = (String::with_capacity(page.0.len()), page.0.as_str());
    while !rest.is_empty() {
        let begins = FIELDS.iter().filter_map(|(start, end)| Some((rest.find(start)?, start, end)));
        let (text, field) = match begins.min() {
            Some((at, start, end)) => {
                let behind = at + start.len();
                let length = rest[behind..].find(end).unwrap_or(rest.len() - behind);
                (&rest[..at], &rest[at..behind + length])
            }
            None => (rest, ""),
        };
        text.chars().for_each(|c| push_inert(&mut shown, c, reorders(c)));
        shown.push_str(field);
        rest = &rest[text.len() + field.len()..];
    }
    shown.into_bytes()
}

/// Returns a time as its age before `now`.
pub(crate) fn since(time: Timestamp, now: Timestamp) -> Markup {
    let seconds = now.as_second().saturating_sub(time.as_second());
    let passed = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    html! { time datetime=(moment(time)) title=(moment(time)) { (age(passed)) } }
}

/// Returns a duration in words.
pub(crate) fn length(seconds: u64) -> String {
    age(Duration::from_secs(seconds))
}

/// Returns a time to the second, in the format of files.
pub(crate) fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns names separated by commas.
pub(crate) fn names<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns names and values as a part of a URL.
pub(crate) fn query_string(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Returns a sentence whose parts between backticks are code.
pub(crate) fn prose(text: &str) -> Markup {
    let is_paired = text.matches('`').count().is_multiple_of(2);
    html! {
        @if is_paired {
            @for (at, part) in text.split('`').enumerate() {
                @if at % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}
