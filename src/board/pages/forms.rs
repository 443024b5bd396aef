//! The forms of a task, and the fields that they post.
//!
//! A completion's form has the ticket of the visit that the person saw, and an id made with the page. So it counts once, however often
//! it is sent, and does not count if the task has moved on.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::layout::{PageFrame, hidden};
use super::parts::{form_id, icon};
use crate::board::model::act::BoardAct;
use crate::board::model::page::{OpeningPage, OutcomeChoice, OutputField, TaskDetails};
use crate::domain::{AgentId, CompletionId, Map, Status, Ticket};
use crate::operations::Operation;
use crate::operations::arguments::Arguments;
use crate::operations::fields::{Doors, InputField, InputKind};
use crate::operations::table::{self, offered};
use crate::rules::outputs::FieldInput;

/// The fields of a form as they were sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Posted(pub Vec<(String, String)>);

impl Posted {
    /// Returns a field without surrounding blanks; empty if it is missing.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.trim())
    }

    /// Returns all values of a field that is there more than once.
    pub(crate) fn all<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the form of one task of several: `extra` comes first, so that it counts.
    pub(crate) fn for_task(&self, ticket: &Ticket, extra: Self) -> Self {
        let ticket = ("ticket".to_owned(), ticket.to_string());
        Self(extra.0.into_iter().chain([ticket]).chain(self.0.iter().cloned()).collect())
    }

    /// Returns the outcome of the page that a completion chooses.
    pub(crate) fn choice<'p>(&self, page: &'p TaskDetails) -> Option<&'p OutcomeChoice> {
        let (ticket, outcome) = (self.text("ticket"), self.text("outcome"));
        let mut openings = page.openings.iter().filter(|one| one.ticket.to_string() == ticket);
        openings.find_map(|one| one.choices.iter().find(|choice| choice.outcome == outcome))
    }

    /// Returns the lines of a text as browsers send it, without bullets and empty lines.
    fn lines(&self, name: &str) -> Vec<String> {
        let lines = self.text(name).lines().map(|line| line.trim_start_matches("- ").trim());
        lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Returns a text of many lines with the line breaks of files.
    fn many_lines(&self, name: &str) -> String {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.replace("\r\n", "\n")).unwrap_or_default()
    }

    /// Returns the act that the form asks for. Fails with a sentence if there is no such task, gate or agent.
    pub(crate) fn act(&self, page: Option<&TaskDetails>) -> Result<BoardAct, String> {
        let name = self.text("act");
        let operation = offered(name, Doors::PAGE).filter(|one| one.is_on_task() == page.is_some());
        let operation = operation.ok_or_else(|| format!("there is no act `{name}`"))?;
        let mut given: Map =
            operation.fields_at(Doors::PAGE).filter_map(|field| self.value(field)).collect();
        let ticket = match (page, name) {
            (None, _) => None,
            (Some(page), "edit") => {
                self.complete_edit(page, &mut given)?;
                Some(page.ticket.clone())
            }
            (Some(page), _) => Some(seen_ticket(self.text("ticket"), page)?),
        };
        if let (Some(page), Some(ticket), "complete") = (page, &ticket, name) {
            self.complete_completion(page, ticket, &mut given)?;
        }
        let given = Arguments::check(name, operation.fields, Doors::PAGE, given);
        let given = given.map_err(|fault| fault.problem)?;
        Ok(BoardAct { operation, ticket, given })
    }

    /// Returns the value of a field, by its kind; `None` if nothing was typed.
    fn value(&self, field: &InputField) -> Option<(String, Value)> {
        let value = match field.kind {
            // The text of a task is kept as it was typed.
            InputKind::Text if field.name == "body" => json!(self.many_lines(field.name)),
            InputKind::Text | InputKind::Word(_) => json!(self.many_lines(field.name).trim()),
            InputKind::Texts if field.name == "tags" => json!(self.words("tags")),
            InputKind::Texts if field.name == "assignee" => json!(self.words("assignee")),
            InputKind::Texts | InputKind::Links => json!(self.lines(field.name)),
            _ => return None,
        };
        let is_given = value != json!("") && value != json!([]);
        is_given.then(|| (field.name.to_owned(), value))
    }

    /// Adds what a completion's form says by the outcome that it is for.
    fn complete_completion(
        &self,
        page: &TaskDetails,
        ticket: &Ticket,
        given: &mut Map,
    ) -> Result<(), String> {
        ensure_visit(ticket, page)?;
        let choice = self.choice(page);
        let mut outputs = Map::new();
        for (name, value) in &self.0 {
            let Some(name) = name.strip_prefix("out.") else { continue };
            if value.trim().is_empty() {
                continue;
            }
            let field = choice.and_then(|at| at.outputs.iter().find(|one| one.name == name));
            let value =
                field.map_or_else(|| value.as_str().into(), |field| field.value(value.trim()));
            outputs.insert(name.to_owned(), value);
        }
        let usual = || choice.filter(|choice| choice.approves).map(|_| "Approved".to_owned());
        let usual = self.lines("blockers").into_iter().next().or_else(usual);
        given.entry("summary".to_owned()).or_insert_with(|| json!(usual.unwrap_or_default()));
        given.insert("outputs".to_owned(), Value::Object(outputs));
        Ok(())
    }

    /// Returns the words of a field, without the signs that people put before them.
    fn words(&self, name: &str) -> Vec<String> {
        let words = self.text(name).split([',', ' ', '\n']);
        let words = words.map(|word| word.trim_start_matches(['#', '@']));
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    /// Leaves out of an edit what the person did not change.
    fn complete_edit(&self, page: &TaskDetails, given: &mut Map) -> Result<(), String> {
        let has = |name: &str| self.0.iter().any(|(key, _)| key == name);
        let emptied = ["due", "notBefore", "milestone", "assignee", "parent"]
            .into_iter()
            .filter(|key| has(key) && self.text(key).is_empty());
        let emptied: Vec<&str> = emptied.collect();
        if !emptied.is_empty() {
            given.insert("unset".to_owned(), json!(emptied));
        }
        // Pages show ids without their prefix.
        if let Some(Value::String(parent)) = given.get_mut("parent")
            && !parent.contains('-')
        {
            let prefix = page.id.as_str().trim_end_matches(page.id.local());
            *parent = format!("{prefix}{}", parent.to_lowercase());
        }
        if has("tags") {
            let tags = self.words("tags");
            let gone = page.sheet.tags.iter().filter(|tag| !tags.contains(tag));
            given.insert("untag".to_owned(), json!(gone.collect::<Vec<_>>()));
        }
        // The form of one field leaves title and text alone.
        if !has("title") && !has("body") {
            return Ok(());
        }
        let (title, was) = (self.text("title"), self.text("title-was"));
        if title.is_empty() {
            return Err("`title` is missing".to_owned());
        }
        if title == was {
            given.shift_remove("title");
        } else if ![was, title].contains(&&*page.title) {
            return Err(format!("the title is `{}` now: somebody else has changed it", page.title));
        }
        let body = self.many_lines("body");
        given.shift_remove("body");
        if body != page.body {
            given.insert("body".to_owned(), json!(body));
        }
        given.insert("bodyWas".to_owned(), json!(self.many_lines("was")));
        Ok(())
    }
}

/// Parses the ticket that a request names, which must be one of the page's task.
pub(crate) fn seen_ticket(text: &str, page: &TaskDetails) -> Result<Ticket, String> {
    if text.is_empty() {
        return Err("`ticket` is missing".to_owned());
    }
    let ticket: Ticket = text.parse().map_err(|fault| format!("`ticket`: {fault}"))?;
    let is_own = ticket.task == page.id;
    is_own.then_some(ticket).ok_or_else(|| format!("the form is not for `{}`", page.id))
}

/// Fails if a completion names no visit: an old request would count for the visit that is now open.
pub(crate) fn ensure_visit(ticket: &Ticket, page: &TaskDetails) -> Result<(), String> {
    match ticket.visit {
        Some(_) => Ok(()),
        None => Err(format!("`ticket` names no visit: write it as in `{}`", page.ticket)),
    }
}

/// The most outcomes that stand beside each other; the others are in the menu.
const SHOWN: usize = 4;

/// Returns the acts of a person at a task: the outcomes of its gate, and a menu of the others. `kept` holds the fields of a form that was
/// refused.
pub(crate) fn task_acts(
    frame: &PageFrame,
    page: &TaskDetails,
    you: &AgentId,
    completion: &CompletionId,
    kept: Option<&Posted>,
) -> Markup {
    let usable = page.openings.iter().filter(|one| one.agents.contains(you) && !one.blocked);
    let usable: Vec<&OpeningPage> = usable.collect();
    let choices = usable.iter().flat_map(|one| one.choices.iter().map(|choice| (*one, choice)));
    let choices: Vec<(&OpeningPage, &OutcomeChoice)> = choices.collect();
    let judges = choices.iter().any(|(_, choice)| choice.rejects);
    let is_shown =
        |(_, choice): &(&OpeningPage, &OutcomeChoice)| !judges || choice.approves || choice.rejects;
    let (mut shown, mut rest): (Vec<_>, Vec<_>) = choices.into_iter().partition(is_shown);
    rest.extend(shown.split_off(shown.len().min(SHOWN)));
    let form = |place, class| completion_form(frame, page, place, completion, kept, class);
    let has_note = shown.iter().any(|(_, choice)| is_quick(frame, choice));
    let small = small_acts(page, you);
    let takes =
        |operation: &&Operation| [table::CLAIM.name, table::UNBLOCK.name].contains(&operation.name);
    let first = small.iter().copied().find(takes).filter(|_| shown.is_empty());
    html! {
        div.acts.do #do data-ticket=(page.ticket) {
            @for (at, place) in shown.iter().enumerate() {
                @let class = if at == 0 { "button primary" } else { "button" };
                @if is_quick(frame, place.1) && kept.is_none() { (quick_form(frame, page, *place, completion)) }
                @else { (form(*place, class)) }
            }
            @if let Some(act) = first { (small_act(frame, page, act, kept, "button primary")) }
            details.acts-menu open[kept.is_some_and(|kept| small.iter().any(|act| act.name == kept.text("act")) && kept.text("act") != "comment")] {
                summary.icon aria-label="More acts" { (icon("more")) }
                div.menu {
                    @if has_note && kept.is_none() {
                        @for place in shown.iter().filter(|(_, choice)| is_quick(frame, choice)) { (form(*place, "")) }
                    }
                    @for place in &rest { (form(*place, "")) }
                    @for act in small.iter().filter(|act| act.name != table::COMMENT.name && first.is_none_or(|first| first.name != act.name)) {
                        (small_act(frame, page, act, kept, ""))
                    }
                    a href={ (frame.links.task(&page.id)) "/edit" } { "Edit title and text" }
                }
            }
        }
        @if let Some(kept) = kept.filter(|kept| !has_form(page, &usable, you, kept)) { (typed(kept)) }
    }
}

/// Returns true if one click is enough: the gate asks for nothing, and nobody signs.
fn is_quick(frame: &PageFrame, choice: &OutcomeChoice) -> bool {
    choice.approves && choice.outputs.is_empty() && !frame.signs
}

fn quick_form(
    frame: &PageFrame,
    page: &TaskDetails,
    (opening, choice): (&OpeningPage, &OutcomeChoice),
    completion: &CompletionId,
) -> Markup {
    html! {
        form method="post" action=(frame.links.task(&page.id)) data-outcome=(choice.outcome) data-to=(choice.leads) data-label=(choice.label) {
            (hidden(frame, "complete", &opening.ticket.to_string()))
            input type="hidden" name="outcome" value=(choice.outcome);
            input type="hidden" name="id" value=(completion);
            button.button.primary type="submit" data-act="approve" { (icon("check")) (full_label(page, opening, choice)) }
        }
    }
}

/// Returns an outcome as an act, with the place that it leads to; at a fork, the branch comes first.
fn full_label(page: &TaskDetails, opening: &OpeningPage, choice: &OutcomeChoice) -> String {
    let branch =
        if page.openings.len() > 1 { format!("{}: ", opening.station) } else { String::new() };
    let leads =
        if choice.leads.is_empty() { String::new() } else { format!(" → {}", choice.leads) };
    format!("{branch}{}{leads}", choice.label)
}

/// Returns true if the page still has the form that was sent.
fn has_form(page: &TaskDetails, usable: &[&OpeningPage], you: &AgentId, kept: &Posted) -> bool {
    if kept.text("act") != "complete" {
        return small_acts(page, you).iter().any(|act| act.name == kept.text("act"));
    }
    let mut openings =
        usable.iter().filter(|opening| opening.ticket.to_string() == kept.text("ticket"));
    openings.any(|one| one.choices.iter().any(|choice| choice.outcome == kept.text("outcome")))
}

/// Returns the text that was typed into a form that the page no longer has.
fn typed(kept: &Posted) -> Markup {
    let fields = kept.0.iter().filter(|(name, value)| {
        let is_typed = ["summary", "blockers", "reason"].contains(&name.as_str());
        (is_typed || name.starts_with("out.")) && !value.trim().is_empty()
    });
    html! {
        section.panel.kept {
            h2 { "What you typed" }
            @for (name, value) in fields { p.facts { (name.trim_start_matches("out.")) } pre tabindex="0" { (value) } }
        }
    }
}

fn completion_form(
    frame: &PageFrame,
    page: &TaskDetails,
    (opening, choice): (&OpeningPage, &OutcomeChoice),
    completion: &CompletionId,
    kept: Option<&Posted>,
    class: &str,
) -> Markup {
    let ticket = opening.ticket.to_string();
    let kept = kept.filter(|kept| {
        kept.text("act") == "complete"
            && kept.text("outcome") == choice.outcome
            && kept.text("ticket") == ticket
    });
    let value = |name: &str| kept.map(|kept| kept.text(name)).unwrap_or_default();
    // A refused completion changed nothing, so it may be sent again under the same id.
    let id = kept.map_or_else(|| completion.to_string(), |kept| kept.text("id").to_owned());
    let key = form_id(&ticket, &choice.outcome);
    let note = if is_quick(frame, choice) && class.is_empty() { " with a note" } else { "" };
    html! {
        details.form name="say" open[kept.is_some()] {
            summary class=(class) data-act=(if choice.rejects { "reject" } else { &choice.outcome }) { (full_label(page, opening, choice)) (note) }
            form.fill #(key) method="post" action=(frame.links.task(&page.id)) data-outcome=(choice.outcome) data-to=(choice.leads) data-label={ (choice.label) (note) } data-sign=[frame.signs.then(|| format!("{}/to-sign", frame.links.task(&page.id)))] {
                (hidden(frame, "complete", &ticket))
                input type="hidden" name="outcome" value=(choice.outcome);
                input type="hidden" name="id" value=(id);
                @if !choice.meaning.is_empty() { p.meaning { (choice.meaning) } }
                @if choice.needs_blockers || choice.rejects {
                    label for=(format!("{key}-blockers")) { @if choice.rejects { "To fix, one point a line" } @else { "Waits for, one a line" } }
                    textarea #(format!("{key}-blockers")) name="blockers" rows="3" required[choice.needs_blockers] { (value("blockers")) }
                }
                label for=(format!("{key}-summary")) {
                    "Summary"
                    @if choice.approves { " (without one: Approved)" } @else if choice.rejects { " (without one: the first point)" }
                }
                textarea #(format!("{key}-summary")) name="summary" rows="2" required[!choice.approves && !choice.rejects && !choice.needs_blockers] { (value("summary")) }
                @for field in choice.outputs.iter().filter(|one| !one.name.contains(['.', '['])) {
                    (output_field(&key, field, value(&format!("out.{}", field.name))))
                }
                button.button.primary type="submit" { (choice.label) }
            }
        }
    }
}

fn output_field(key: &str, field: &OutputField, typed: &str) -> Markup {
    let (id, name) = (format!("{key}-out-{}", field.name), format!("out.{}", field.name));
    let usual = match &field.default {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let value = if typed.is_empty() { usual.as_str() } else { typed };
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    html! {
        label for=(id) {
            (field.name)
            span.facts { " " (field.form) @if !field.required { ", may stay empty" } }
        }
        @if let Some(about) = &field.description { p.facts { (about) } }
        @match &field.input {
            FieldInput::Choice(values) => (choice_field(&id, &name, &values.iter().map(shown).collect::<Vec<_>>(), value, field.required)),
            FieldInput::Bool => (choice_field(&id, &name, &["true".to_owned(), "false".to_owned()], value, field.required)),
            FieldInput::Number => input #(id) name=(name) type="number" step="any" value=(value) required[field.required];,
            FieldInput::Text | FieldInput::Json => textarea #(id) name=(name) rows="1" required[field.required] { (value) },
        }
    }
}

fn choice_field(id: &str, name: &str, options: &[String], value: &str, required: bool) -> Markup {
    html! {
        select #(id) name=(name) required[required] {
            option value="" { "" }
            @for option in options { option value=(option) selected[option == value] { (option) } }
        }
    }
}

/// Returns the operations, apart from completions, that the state of the task allows. The rules decide who may.
fn small_acts(page: &TaskDetails, you: &AgentId) -> Vec<&'static Operation> {
    let is_open = page.gate.is_some();
    let is_finished = matches!(page.status, Status::Complete | Status::Cancelled);
    let is_blocked =
        page.status == Status::Blocked || page.held || page.openings.iter().any(|one| one.blocked);
    let may_claim =
        page.openings.iter().any(|one| one.agents.contains(you)) && !page.agents.contains(you);
    let acts: [(bool, &Operation); 9] = [
        (may_claim, &table::CLAIM),
        (!page.agents.is_empty(), &table::RELEASE),
        (is_blocked, &table::UNBLOCK),
        (true, &table::COMMENT),
        (is_open, &table::ASSIGN),
        (is_open && !page.held, &table::HOLD),
        (is_open, &table::OVERRIDE),
        (is_finished, &table::REOPEN),
        (!is_finished, &table::CANCEL),
    ];
    acts.into_iter().filter(|(may, _)| *may).map(|(_, operation)| operation).collect()
}

fn act_label(operation: &Operation, page: &TaskDetails) -> &'static str {
    if operation.name == "unblock" && page.held { "Resume" } else { operation.label }
}

/// Returns the fields of an operation that a person fills in.
fn typed_fields(operation: &Operation) -> impl Iterator<Item = &'static InputField> + Clone {
    operation.fields_at(Doors::PAGE).filter(|field| field.name != table::TICKET.name)
}

fn small_act(
    frame: &PageFrame,
    page: &TaskDetails,
    act: &Operation,
    kept: Option<&Posted>,
    class: &str,
) -> Markup {
    let kept = kept.filter(|kept| kept.text("act") == act.name);
    html! {
        @if typed_fields(act).next().is_none() {
            form method="post" action=(frame.links.task(&page.id)) {
                (hidden(frame, act.name, &page.ticket.to_string()))
                button class=[(!class.is_empty()).then_some(class)] type="submit" data-act=(act.name) { (act_label(act, page)) }
            }
        } @else {
            details.form name="say" open[kept.is_some()] {
                summary class=[(!class.is_empty()).then_some(class)] data-act=(act.name) { (act_label(act, page)) " …" }
                (small_form(frame, page, act, kept))
            }
        }
    }
}

fn small_form(
    frame: &PageFrame,
    page: &TaskDetails,
    act: &Operation,
    kept: Option<&Posted>,
) -> Markup {
    let value = |name: &str| kept.map(|kept| kept.text(name)).unwrap_or_default();
    html! {
        form.fill method="post" action=(frame.links.task(&page.id)) {
            (hidden(frame, act.name, &page.ticket.to_string()))
            @for field in typed_fields(act) {
                @let (id, name) = (format!("act-{}-{}", act.name, field.name), field.name);
                @let required = field.needed.has(Doors::PAGE);
                label for=(id) { (field.label) }
                @match name {
                    "agent" => {
                        input #(id) name=(name) required value=(value(name)) list="agents";
                        datalist #agents { @for agent in page.openings.iter().flat_map(|opening| &opening.agents) { option value=(agent) {} } }
                    }
                    "to" => select #(id) name=(name) required {
                        @for gate in &page.gates { option value=(gate) selected[gate.as_str() == value(name)] { (gate) } }
                    },
                    _ => textarea #(id) name=(name) rows="2" required[required] { (value(name)) },
                }
            }
            button.button.primary type="submit" { (act_label(act, page)) }
        }
    }
}
