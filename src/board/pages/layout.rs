//! The common parts of all pages: their links, their head, and the form of times and people.

use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::parts::{icon, icons};
use crate::board::model::keys::{BoardKey, KEYS, KeyDoor};
use crate::domain::{AgentId, TaskId, Ticket, Timestamp, WorkflowName, counted};
use crate::files::printable::{push_inert, reorders};

/// The number of entries of a list on a page.
pub(crate) const LISTED: usize = 100;

/// Returns the number of entries that a page leaves out, and the command that shows all.
pub(crate) fn left_out(count: usize, command: &str) -> Markup {
    html! {
        @if count > LISTED { p.hint { (count - LISTED) " more: " code { (command) } } }
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

    pub(crate) const fn is_live(&self) -> bool {
        self.is_live
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

    /// Returns the address of an operation on several tasks, or of another page that only a server has.
    pub(crate) fn act(&self, name: &str) -> String {
        format!("{}/{name}", self.root)
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
    List,
    Activity,
    Statistics,
    Workflow,
    Status,
    Verify,
}

impl NavPage {
    pub(crate) const ALL: [Self; 8] = [
        Self::Board,
        Self::Waiting,
        Self::List,
        Self::Activity,
        Self::Statistics,
        Self::Workflow,
        Self::Status,
        Self::Verify,
    ];

    /// Returns true if the page shows only what is committed.
    pub(crate) const fn is_of_commit(self) -> bool {
        !matches!(self, Self::Waiting | Self::Status)
    }

    /// Returns the path, the title, and the drawing.
    const fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Board => ("", "Board", "board"),
            Self::Waiting => ("waiting", "Waiting", "inbox"),
            Self::List => ("list", "List", "list"),
            Self::Activity => ("activity", "Activity", "pulse"),
            Self::Statistics => ("statistics", "Statistics", "chart"),
            Self::Workflow => ("workflow", "Workflow", "flow"),
            Self::Status => ("status", "Status", ""),
            Self::Verify => ("verify", "Verify", ""),
        }
    }

    pub(crate) const fn path(self) -> &'static str {
        self.names().0
    }

    pub(crate) const fn title(self) -> &'static str {
        self.names().1
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
    /// The path and the query of this page, to which its acts lead back.
    pub here: String,
    /// The agent who acts, or the reason why no one does; `None` in pages without a server.
    pub you: Option<Result<AgentId, String>>,
    /// The token that the page's forms must contain.
    pub form_token: String,
    /// The state that the page shows.
    pub version: String,
    /// The time that ages count to.
    pub at: Timestamp,
    /// The project's time zone.
    pub zone: TimeZone,
    /// The people whose names are not clear without `human-`.
    pub full_names: Vec<AgentId>,
    pub waiting: usize,
    /// The state of the project, if it is known.
    pub health: Option<ProjectHealth>,
    /// True if people log in by name.
    pub has_logins: bool,
    /// True if a passkey signs completions here.
    pub signs: bool,
    /// The result of the last act, which may be a refusal.
    pub notice: Option<PageNotice>,
}

/// The state of a project as the foot of a page has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProjectHealth {
    pub problems: usize,
    /// The number of commits that were judged, and of faults in them.
    pub commits: usize,
    pub faults: usize,
}

/// A sentence at the head of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageNotice {
    pub text: String,
    /// The fix, for a refusal.
    pub fix: Option<String>,
    pub is_refusal: bool,
    /// The operation that takes the act back, and the visit that it is about.
    pub undo: Option<(String, Ticket)>,
}

/// The parts of a page that differ from page to page.
pub(crate) struct PageContent {
    /// The heading, and what stands beside it.
    pub head: Markup,
    pub body: Markup,
}

impl PageContent {
    /// Returns a page with a heading alone.
    pub(crate) fn titled(title: &str, body: Markup) -> Self {
        Self { head: html! { h1 { (title) } }, body }
    }
}

impl PageFrame {
    /// Returns true if the page allows acts.
    pub(crate) fn acts(&self) -> bool {
        matches!(self.you, Some(Ok(_)))
    }

    /// Returns a whole page.
    pub(crate) fn page(&self, title: &str, content: &PageContent) -> Markup {
        let class = (self.page == Some(NavPage::Board)).then_some("full");
        html! {
            (DOCTYPE)
            html lang="en" class=[class] data-project=(self.slug) data-version=(self.version) {
                (self.document_head(title))
                body {
                    (icons())
                    a.button.skip href="#main" { "Skip to the page" }
                    (self.side())
                    header.head {
                        button.icon.narrow.open-side popovertarget="side" aria-label="Menu" { (icon("menu")) }
                        (content.head)
                        @if self.links.is_live {
                            a.icon.narrow.find href={ (self.links.page(NavPage::List)) "#q" } aria-label="Search" { (icon("search")) }
                        }
                        @if self.acts() {
                            a.button.primary.narrow.new href=(self.links.act("new")) { (icon("plus")) "New" }
                        }
                    }
                    main #main tabindex="-1" {
                        (self.notices())
                        (content.body)
                    }
                    @if self.links.is_live { script #board-keys type="application/json" { (keys()) } }
                }
            }
        }
    }

    fn document_head(&self, title: &str) -> Markup {
        html! {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · " (self.project) }
                link rel="icon" type="image/svg+xml" href=(self.links.asset("icon.svg"));
                link rel="stylesheet" href=(self.links.asset("board.css"));
                @if self.links.is_live {
                    // A page is painted once its last element is there: the widths of columns depend on all of them.
                    link rel="expect" href="#board-keys" blocking="render";
                    script src=(self.links.asset("board.js")) defer {}
                }
            }
        }
    }

    fn side(&self) -> Markup {
        let pages = NavPage::ALL.into_iter();
        let pages = pages.filter(|page| self.you.is_some() || page.is_of_commit());
        let (foot, main): (Vec<NavPage>, Vec<NavPage>) =
            pages.partition(|page| matches!(page, NavPage::Status | NavPage::Verify));
        let current = |page: NavPage| (Some(page) == self.page).then_some("page");
        html! {
            nav.side #side popover aria-label="Project" {
                @if self.projects.len() > 1 {
                    details {
                        summary.project { (self.project) (icon("down")) }
                        ul { @for slug in &self.projects {
                            li { a href=(PageLinks::at_server(slug).board()) aria-current=[(*slug == self.slug).then_some("true")] { (slug) } }
                        } }
                    }
                } @else {
                    a.project href=(self.links.board()) { (self.project) }
                }
                @if self.acts() {
                    a.button.primary.new href=(self.links.act("new")) { (icon("plus")) "New task" kbd { "n" } }
                }
                @if self.links.is_live {
                    a.find href={ (self.links.page(NavPage::List)) "#q" } { (icon("search")) "Search" kbd { "ctrl-k" } }
                }
                ul { @for page in main {
                    li { a href=(self.links.page(page)) aria-current=[current(page)] {
                        (icon(page.names().2)) (page.title())
                        @if page == NavPage::Waiting { b data-waiting { @if self.waiting > 0 { (self.waiting) } } }
                    } }
                } }
                ul.foot {
                    @for page in foot {
                        @let (count, words) = self.health_words(page);
                        li #{ "foot-" (page.path()) } data-live { a href=(self.links.page(page)) aria-current=[current(page)] {
                            @match count {
                                Some(count) => span.dot.trouble[count > 0] {},
                                None => (icon(if page == NavPage::Status { "ready" } else { "check" })),
                            }
                            (words)
                        } }
                    }
                    li { (self.account()) }
                }
            }
        }
    }

    /// Returns the number of problems or faults, and what the foot says of them; only the title of the page while they are not known.
    fn health_words(&self, page: NavPage) -> (Option<usize>, String) {
        let Some(ProjectHealth { problems, commits, faults }) = self.health else {
            return (None, page.title().to_owned());
        };
        let verified = format!("{} verified", counted(commits, "commit"));
        let (count, fine, word) = match page {
            NavPage::Status => (problems, "In order".to_owned(), "problem"),
            _ => (faults, verified, "finding"),
        };
        (Some(count), if count == 0 { fine } else { counted(count, word) })
    }

    fn account(&self) -> Markup {
        html! {
            @match &self.you {
                Some(Ok(you)) => details #account {
                    summary { (self.avatar(you)) span { span.hidden { "you act as " } (self.name(you)) } (icon("more")) }
                    ul {
                        li { a href=(self.links.act("passkey")) { "Passkey" } }
                        li.script { button type="button" data-theme-next { "Theme: " span { "as the system" } } }
                        li.script { button type="button" data-keys { "Keys" kbd { "?" } } }
                        @if self.has_logins { li { form method="post" action="/logout" { button type="submit" { "Log out" } } } }
                    }
                },
                Some(Err(why)) => p.facts { "read-only: " (why) },
                None => p.facts { "As of " (self.at.to_zoned(self.zone.clone()).strftime("%b %-d, %Y, %H:%M").to_string()) },
            }
        }
    }

    fn notices(&self) -> Markup {
        let Some(notice) = &self.notice else { return html! {} };
        html! {
            @if notice.is_refusal {
                div.notice.refusal role="alert" {
                    p { (prose(&notice.text)) }
                    @if let Some(fix) = &notice.fix { p.fix { (prose(fix)) } }
                }
            } @else {
                div.notice.toast role="status" {
                    p { (prose(&notice.text)) }
                    // A step that an agent takes back is an override, which most may not.
                    @if let (Some((act, ticket)), Some(Ok(you))) = (&notice.undo, &self.you) && (you.is_human() || act != "undo") {
                        form method="post" action=(self.links.task(&ticket.task)) {
                            (hidden(self, act, &ticket.to_string()))
                            button.button.small { "Undo" }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the keys that the script knows, as JSON. Its texts are from the table alone.
fn keys() -> Markup {
    let rows: Vec<&BoardKey> = KEYS.iter().filter(|key| key.is_at(KeyDoor::Web)).collect();
    PreEscaped(serde_json::to_string(&rows).unwrap_or_default())
}

/// Returns the fields that each form has: whose it is, the act, the visit, and the page to which it leads back.
pub(crate) fn hidden(frame: &PageFrame, act: &str, ticket: &str) -> Markup {
    html! {
        input type="hidden" name="form" value=(frame.form_token);
        input type="hidden" name="act" value=(act);
        @if !ticket.is_empty() { input type="hidden" name="ticket" value=(ticket); }
        @if !frame.here.is_empty() { input type="hidden" name="back" value=(frame.here); }
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
