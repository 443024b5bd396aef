//! `recurring` of project.yaml: tasks that come again and again.

use jiff::civil::{Time, Weekday};

use super::decode::{Faults, FieldReader, one_or_many, text_of};
use crate::yaml::Node;
use aof_domain::{Every, PlanChange, Recurrence, Recurring, TaskPlan, weekday};

/// Reads the list.
pub(crate) fn read(node: &Node<'_>, faults: &Faults) -> Vec<Recurring> {
    let mut found: Vec<Recurring> = Vec::new();
    for item in one_or_many(node) {
        let Some(one) = read_one(item, faults) else { continue };
        if found.iter().any(|other| other.name == one.name) {
            let message = format!("there is already a recurring task `{}`", one.name);
            faults.invalid(item, message, "give each a `name` of its own");
        }
        found.push(one);
    }
    found
}

fn read_one(node: &Node<'_>, faults: &Faults) -> Option<Recurring> {
    let fields = FieldReader::of(node, "a recurring task", faults)?;
    let (name, every) = (fields.required::<String>("name"), fields.required::<Every>("every"));
    let title = fields.required::<String>("title");
    let on = fields.take("on");
    let (weekday, day) = match (every, on) {
        (Some(Every::Week), Some(node)) => (day_of_week(node, faults)?, 1),
        (Some(Every::Month), Some(node)) => (Weekday::Monday, day_of_month(node, faults)?),
        (Some(Every::Day), Some(node)) => {
            faults.invalid(node, "`on` counts only for a week or a month", "remove it");
            return None;
        }
        _ => (Weekday::Monday, 1),
    };
    let at = fields.with("at", time).flatten().unwrap_or(Time::midnight());
    let plan = TaskPlan {
        priority: fields.text("priority"),
        assignee: fields.list("assignee").unwrap_or_default(),
        ..TaskPlan::default()
    };
    let tags = fields.list("tags").unwrap_or_default();
    let (body, workflow) = (fields.text("body").unwrap_or_default(), fields.parsed("workflow"));
    let skip_if_open = fields.flag("skipIfOpen").unwrap_or(false);
    fields.refuse_unknown();
    let (name, every) = (name?, every?);
    let fields = PlanChange { title: Some(title?), plan, tags, ..PlanChange::default() };
    let recurrence = Recurrence { every, weekday, day, at };
    Some(Recurring { name, recurrence, fields, body, workflow, skip_if_open })
}

fn day_of_week(node: &Node<'_>, faults: &Faults) -> Option<Weekday> {
    let word = text_of(node).unwrap_or_default().to_lowercase();
    let found = weekday(&word);
    if found.is_none() {
        let message = format!("`{}` is no day of the week", word.escape_debug());
        faults.invalid(node, message, "write one, as in `on: monday`");
    }
    found
}

fn day_of_month(node: &Node<'_>, faults: &Faults) -> Option<i8> {
    let day = text_of(node).and_then(|text| text.parse().ok());
    let day = day.filter(|day| (1..=31).contains(day));
    if day.is_none() {
        let help = "write a number from 1 to 31; a shorter month begins on its last day";
        faults.invalid(node, "`on` of a month is a day of it", help);
    }
    day
}

fn time(node: &Node<'_>, faults: &Faults) -> Option<Time> {
    let found = text_of(node).and_then(|text| Time::strptime("%H:%M", text.as_ref()).ok());
    if found.is_none() {
        faults.invalid(node, "`at` is a time of the day", "write it as in `at: \"09:00\"`");
    }
    found
}
