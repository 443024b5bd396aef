//! The forms of a task, and the fields that they post.
//!
//! A completion's form has the ticket of the visit that the person saw, and an id made with the page. So it counts once, however often
//! it is sent, and does not count if the task has moved on.

use maud::{Markup, html};

use super::layout::PageFrame;
use crate::board::model::act::{BoardAct, CompletionForm, TicketAct};
use crate::board::model::page::{OpeningPage, OutcomeChoice, OutputField, TaskDetails};
use crate::domain::{AgentId, CompletionId, Map, Priority, Status, Ticket};
use crate::rules::outputs::FieldInput;
use crate::tasks::create::NewTask;
use crate::tasks::edit::EditedFields;

/// The fields of a form as they were sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Posted(pub Vec<(String, String)>);

impl Posted {
    /// Returns a field without surrounding blanks; empty if it is missing.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value.trim())
    }

    fn optional(&self, name: &str) -> Option<String> {
        Some(self.text(name)).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
        &self,
        name: &str,
    ) -> Result<T, String> {
        let text = self.text(name);
        if text.is_empty() {
            return Err(format!("`{name}` is missing"));
        }
        text.parse().map_err(|fault| format!("`{name}`: {fault}"))
    }

    /// Returns the lines of a text as browsers send it, without bullets and empty lines.
    fn lines(&self, name: &str) -> Vec<String> {
        let lines = self.text(name).lines().map(|line| line.trim_start_matches("- ").trim());
        lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Returns a text of many lines with the line breaks of files.
    fn many_lines(&self, name: &str) -> String {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.replace("\r\n", "\n")).unwrap_or_default()
    }

    /// Returns the act that the form asks for. Fails with a sentence if there is no such task, gate or agent.
    pub(crate) fn act(&self, page: Option<&TaskDetails>) -> Result<BoardAct, String> {
        let act = match (self.text("act"), page) {
            ("create", None) => return Ok(BoardAct::Create(Box::new(self.new_task()?))),
            ("edit", Some(page)) => {
                return Ok(BoardAct::Edit(page.id.clone(), Box::new(self.edited(page)?)));
            }
            ("complete", Some(page)) => {
                return Ok(BoardAct::Complete(Box::new(self.completion(page)?)));
            }
            ("claim", _) => TicketAct::Claim,
            ("release", _) => TicketAct::Release,
            ("unblock", _) => TicketAct::Unblock { reason: self.optional("reason") },
            ("comment", _) => {
                TicketAct::Comment { text: self.many_lines("reason").trim().to_owned() }
            }
            ("assign", _) => TicketAct::Assign { agent: self.parsed("agent")? },
            ("hold", _) => TicketAct::Hold { reason: self.text("reason").to_owned() },
            ("cancel", _) => TicketAct::Cancel { reason: self.text("reason").to_owned() },
            ("reopen", _) => {
                let reason = self.text("reason").to_owned();
                TicketAct::Reopen { to: self.parsed("to")?, reason }
            }
            ("override", _) => {
                let reason = self.text("reason").to_owned();
                TicketAct::Override { to: self.parsed("to")?, reason }
            }
            (other, _) => return Err(format!("there is no act `{other}`")),
        };
        let page = page.ok_or("the form is for a task, and this page is for none")?;
        Ok(BoardAct::On(self.ticket(page)?, act))
    }

    fn ticket(&self, page: &TaskDetails) -> Result<Ticket, String> {
        let ticket: Ticket = self.parsed("ticket")?;
        let is_own = ticket.task == page.id;
        is_own.then_some(ticket).ok_or_else(|| format!("the form is not for `{}`", page.id))
    }

    fn completion(&self, page: &TaskDetails) -> Result<CompletionForm, String> {
        let (ticket, blockers) = (self.ticket(page)?, self.lines("blockers"));
        if ticket.visit.is_none() {
            // Otherwise an old request would count for the visit that is now open.
            return Err(format!("`ticket` names no visit: write it as in `{}`", page.ticket));
        }
        let opening = page.openings.iter().find(|opening| opening.ticket == ticket);
        let outcome = self.text("outcome");
        let choice = opening.and_then(|own| own.choices.iter().find(|own| own.outcome == outcome));
        let mut outputs = Map::new();
        for (name, value) in &self.0 {
            let Some(name) = name.strip_prefix("out.") else { continue };
            if value.trim().is_empty() {
                continue;
            }
            let field = choice.and_then(|own| own.outputs.iter().find(|own| own.name == name));
            let value =
                field.map_or_else(|| value.as_str().into(), |field| field.value(value.trim()));
            outputs.insert(name.to_owned(), value);
        }
        let usual = || choice.filter(|own| own.approves).map(|_| "Approved".to_owned());
        let summary = self.optional("summary").or_else(|| blockers.first().cloned()).or_else(usual);
        let signature = self.optional("signature").map(|text| text.parse()).transpose();
        Ok(CompletionForm {
            ticket,
            outcome: self.parsed("outcome")?,
            summary: summary.unwrap_or_default(),
            blockers,
            outputs,
            id: self.parsed("id")?,
            signature: signature.map_err(|fault| format!("`signature`: {fault}"))?,
        })
    }

    fn new_task(&self) -> Result<NewTask, String> {
        let workflow = self.optional("workflow").map(|_| self.parsed("workflow")).transpose()?;
        let mut new = NewTask {
            title: self.text("title").to_owned(),
            description: self.optional("description"),
            body: self.many_lines("body"),
            tags: self.tags(),
            workflow,
            ..NewTask::default()
        };
        let priority = self.optional("priority").map(|_| self.parsed::<Priority>("priority"));
        new.plan.priority = priority.transpose()?.map(|priority| priority.to_string());
        new.plan.milestone = self.optional("milestone");
        new.plan.due = self.optional("due").map(|_| self.parsed("due")).transpose()?;
        Ok(new)
    }

    fn tags(&self) -> Vec<String> {
        let tags = self.text("tags").split([',', ' ', '\n']).map(|tag| tag.trim_start_matches('#'));
        let tags = tags.filter(|tag| !tag.is_empty());
        tags.map(str::to_owned).collect()
    }

    fn edited(&self, page: &TaskDetails) -> Result<EditedFields, String> {
        let title: String = self.parsed("title")?;
        let title = Some(title).filter(|title| title != self.text("title-was"));
        if title.is_some() && ![self.text("title-was"), self.text("title")].contains(&&*page.title)
        {
            return Err(format!("the title is `{}` now: somebody else has changed it", page.title));
        }
        let body = Some(self.many_lines("body")).filter(|body| *body != page.body);
        Ok(EditedFields {
            title,
            body,
            body_was: Some(self.many_lines("was")),
            ..EditedFields::default()
        })
    }
}

/// Returns the forms for a person at a task. `kept` holds the fields of a form that was refused.
pub(crate) fn task_forms(
    frame: &PageFrame,
    page: &TaskDetails,
    you: &AgentId,
    completion: &CompletionId,
    kept: Option<&Posted>,
) -> Markup {
    let own = page.openings.iter().filter(|own| own.agents.contains(you) && !own.blocked);
    let own: Vec<&OpeningPage> = own.collect();
    let is_only = own.iter().map(|opening| opening.choices.len()).sum::<usize>() == 1;
    html! {
        section.do #do aria-label="What you may do" data-ticket=(page.ticket) {
            @for opening in &own {
                h2 { "You are asked: " (opening.station) }
                @for choice in &opening.choices {
                    (completion_form(frame, page, (opening, choice), completion, kept, is_only))
                }
            }
            @if let Some(kept) = kept.filter(|kept| !has_form(page, &own, you, kept)) { (typed(kept)) }
            (other_acts(frame, page, you, kept))
        }
    }
}

/// Returns true if the page still has the form that was sent.
fn has_form(page: &TaskDetails, own: &[&OpeningPage], you: &AgentId, kept: &Posted) -> bool {
    if kept.text("act") != "complete" {
        return small_acts(page, you).iter().any(|act| act.act == kept.text("act"));
    }
    let mut openings =
        own.iter().filter(|opening| opening.ticket.to_string() == kept.text("ticket"));
    openings.any(|own| own.choices.iter().any(|choice| choice.outcome == kept.text("outcome")))
}

/// Returns the text that was typed into a form that the page no longer has.
fn typed(kept: &Posted) -> Markup {
    let fields = kept.0.iter().filter(|(name, value)| {
        let is_typed = ["summary", "blockers", "reason"].contains(&name.as_str());
        (is_typed || name.starts_with("out.")) && !value.trim().is_empty()
    });
    html! {
        h2 { "What you typed" }
        @for (name, value) in fields { p.facts { (name.trim_start_matches("out.")) } pre tabindex="0" { (value) } }
    }
}

/// Returns the fields that each form of a task has.
pub(crate) fn hidden(frame: &PageFrame, act: &str, ticket: &str) -> Markup {
    html! {
        input type="hidden" name="form" value=(frame.form_token);
        input type="hidden" name="act" value=(act);
        @if !ticket.is_empty() { input type="hidden" name="ticket" value=(ticket); }
    }
}

fn completion_form(
    frame: &PageFrame,
    page: &TaskDetails,
    (opening, choice): (&OpeningPage, &OutcomeChoice),
    completion: &CompletionId,
    kept: Option<&Posted>,
    is_only: bool,
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
    let key = format!("{}-{}", ticket.replace(['@', '/', '.'], "-"), choice.outcome);
    html! {
        details.form name="say" open[is_only || kept.is_some()] {
            summary.reject[choice.rejects].approve[choice.approves] {
                b { (choice_label(choice)) }
                @if let Some(to) = &choice.to { " → " (to) }
            }
            form method="post" action=(frame.links.task(&page.id)) data-outcome=(choice.outcome) data-to=[choice.to.as_ref()] data-sign=[frame.signs.then(|| format!("{}/to-sign", frame.links.task(&page.id)))] {
                (hidden(frame, "complete", &ticket))
                input type="hidden" name="outcome" value=(choice.outcome);
                input type="hidden" name="id" value=(id);
                @if !choice.meaning.is_empty() { p.meaning { (choice.meaning) } }
                @if choice.needs_blockers || choice.rejects {
                    label for=(format!("{key}-blockers")) { @if choice.rejects { "To fix, one a line" } @else { "Waits for, one a line" } }
                    textarea #(format!("{key}-blockers")) name="blockers" rows="3" required[choice.needs_blockers] { (value("blockers")) }
                }
                label for=(format!("{key}-summary")) {
                    "Summary"
                    @if choice.approves { " (without one: Approved)" } @else if choice.rejects { " (without one: the first point)" }
                }
                textarea #(format!("{key}-summary")) name="summary" rows="2" required[!choice.approves && !choice.rejects && !choice.needs_blockers] { (value("summary")) }
                @for field in choice.outputs.iter().filter(|own| !own.name.contains(['.', '['])) {
                    (output_field(&key, field, value(&format!("out.{}", field.name))))
                }
                button.primary type="submit" { (choice_label(choice)) }
            }
        }
    }
}

/// Returns the name of an outcome for people.
fn choice_label(choice: &OutcomeChoice) -> String {
    match &*choice.outcome {
        outcome if choice.approves => format!("Approve ({outcome})"),
        outcome if choice.rejects => format!("Send back ({outcome})"),
        outcome => format!("Say {outcome}"),
    }
}

fn output_field(key: &str, field: &OutputField, typed: &str) -> Markup {
    let (id, name) = (format!("{key}-out-{}", field.name), format!("out.{}", field.name));
    let usual = match &field.default {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let value = if typed.is_empty() { usual.as_str() } else { typed };
    let shown =
        |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    html! {
        label for=(id) {
            (field.name)
            span.hint { " " (field.form) @if !field.required { ", may stay empty" } }
        }
        @if let Some(about) = &field.description { p.hint { (about) } }
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

/// An act with one text, or none.
struct SmallAct {
    act: &'static str,
    label: &'static str,
    /// The label of the text; `None` if the act has none.
    asks: Option<&'static str>,
    needs_text: bool,
    /// The kind of what the act names: a gate, or an agent.
    names: Option<&'static str>,
}

const fn small(act: &'static str, label: &'static str) -> SmallAct {
    SmallAct { act, label, asks: None, needs_text: false, names: None }
}

const fn reasoned(act: &'static str, label: &'static str, asks: &'static str) -> SmallAct {
    SmallAct { asks: Some(asks), needs_text: true, ..small(act, label) }
}

/// Returns the acts, apart from completions, that the state of the task allows. The rules decide who may.
fn small_acts(page: &TaskDetails, you: &AgentId) -> Vec<SmallAct> {
    let is_open = page.gate.is_some();
    let is_finished = matches!(page.status, Status::Complete | Status::Cancelled);
    let is_blocked =
        page.status == Status::Blocked || page.held || page.openings.iter().any(|own| own.blocked);
    let may_claim =
        page.openings.iter().any(|own| own.agents.contains(you)) && !page.agents.contains(you);
    let mut acts = Vec::new();
    if may_claim {
        acts.push(small("claim", "Claim"));
    }
    if !page.agents.is_empty() {
        acts.push(small("release", "Release"));
    }
    if is_blocked {
        let label = if page.held { "Resume" } else { "Unblock" };
        acts.push(SmallAct { needs_text: false, ..reasoned("unblock", label, "What changed") });
    }
    acts.push(reasoned("comment", "Comment", "Comment"));
    if is_open {
        acts.push(SmallAct { names: Some("agent"), ..small("assign", "Assign") });
        if !page.held {
            acts.push(reasoned("hold", "Hold", "Why it has to wait"));
        }
        acts.push(SmallAct {
            names: Some("to"),
            ..reasoned("override", "Move against the workflow", "Why")
        });
    }
    if is_finished {
        acts.push(SmallAct { names: Some("to"), ..reasoned("reopen", "Reopen", "Why") });
    } else {
        acts.push(reasoned("cancel", "Cancel the task", "Why it is not needed"));
    }
    acts
}

fn other_acts(
    frame: &PageFrame,
    page: &TaskDetails,
    you: &AgentId,
    kept: Option<&Posted>,
) -> Markup {
    html! {
        h2.hidden { "Other acts" }
        div.acts {
            @for act in small_acts(page, you) {
                @let kept = kept.filter(|kept| kept.text("act") == act.act);
                @if act.asks.is_none() && act.names.is_none() {
                    form method="post" action=(frame.links.task(&page.id)) {
                        (hidden(frame, act.act, &page.ticket.to_string()))
                        button type="submit" { (act.label) }
                    }
                } @else {
                    details.form name="say" open[kept.is_some()] {
                        summary { (act.label) }
                        (small_form(frame, page, &act, kept))
                    }
                }
            }
            a.button href=(format!("{}/edit", frame.links.task(&page.id))) { "Edit" }
        }
    }
}

fn small_form(
    frame: &PageFrame,
    page: &TaskDetails,
    act: &SmallAct,
    kept: Option<&Posted>,
) -> Markup {
    let value = |name: &str| kept.map(|kept| kept.text(name)).unwrap_or_default();
    let id = format!("act-{}", act.act);
    html! {
        form method="post" action=(frame.links.task(&page.id)) {
            (hidden(frame, act.act, &page.ticket.to_string()))
            @if act.names == Some("agent") {
                label for=(format!("{id}-agent")) { "Agent" }
                input #(format!("{id}-agent")) name="agent" required value=(value("agent")) list="agents";
                datalist #agents { @for agent in page.openings.iter().flat_map(|own| &own.agents) { option value=(agent) {} } }
            }
            @if act.names == Some("to") {
                label for=(format!("{id}-to")) { "Gate" }
                select #(format!("{id}-to")) name="to" required {
                    @for gate in &page.gates { option value=(gate) selected[gate.as_str() == value("to")] { (gate) } }
                }
            }
            @if let Some(asks) = act.asks {
                label for=(format!("{id}-reason")) { (asks) }
                textarea #(format!("{id}-reason")) name="reason" rows="2" required[act.needs_text] { (value("reason")) }
            }
            button.primary type="submit" { (act.label) }
        }
    }
}
