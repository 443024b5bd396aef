//! The brief as Markdown, for prompts: the same in every door, but for how the door says things.

use crate::files::printable::{inert, one_line};
use crate::files::task_file::TaskFile;
use crate::rules::brief::{GateContext, OutputForm};
use crate::rules::outputs::Field;

/// Returns how a text says the outcome.
pub(crate) fn verdict_in_words(verdict: &str) -> String {
    format!(
        "A text can say it, too: {}. The last one counts; what is quoted or code does not.",
        one_line(verdict)
    )
}

/// Returns the fields that are handed on with an outcome, a line each.
pub(crate) fn output_lines(form: &OutputForm) -> Vec<String> {
    let line = |field: &Field| {
        let need = if field.required { "" } else { " (optional)" };
        let about = field.description.as_ref().map(|text| format!(" - {text}")).unwrap_or_default();
        let default = field
            .default
            .as_ref()
            .map(|value| format!("; {value} unless you say"))
            .unwrap_or_default();
        format!("{}{need}: {}{default}{about}", field.name, field.form)
    };
    form.fields.iter().map(line).collect()
}

/// Returns the brief for a prompt. `renewal` is how this door says that the work goes on.
pub(crate) fn brief_markdown(file: &TaskFile, context: &GateContext, renewal: &str) -> String {
    let mut text = format!("# {}: {}\n\n", file.task.id, one_line(&file.task.title));
    text.push_str(&format!(
        "Gate `{}`, ticket `{}`.\n\n{}\n",
        context.gate,
        context.ticket,
        inert(&context.role)
    ));
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n## {title}\n\n{}\n", lines.join("\n")));
        }
    };
    let items = |list: &[String]| {
        list.iter().map(|item| format!("- {}", one_line(item))).collect::<Vec<_>>()
    };
    section("Asked", context.prompt.iter().map(|text| inert(text.trim_end())).collect());
    section(
        "Instructions",
        context.instructions.iter().map(|text| inert(text.trim_end())).collect(),
    );
    section("Expected", items(&context.expectations));
    let outcomes = context
        .outcomes
        .iter()
        .map(|(outcome, meaning)| format!("- `{outcome}`: {}", one_line(meaning)));
    let verdict = context.verdict.iter().map(|verdict| format!("\n{}", verdict_in_words(verdict)));
    section("Outcomes", outcomes.chain(verdict).collect());
    for form in &context.outputs {
        let mut own = items(&output_lines(form));
        let example = serde_json::to_string_pretty(&form.example).unwrap_or_default();
        own.push(format!("\n```json\n{}\n```", inert(&example)));
        section(&format!("Outputs with `{}`", form.outcome), own);
    }
    section(
        "Files",
        context.files.iter().map(|pattern| format!("- `{}`", one_line(pattern))).collect(),
    );
    section("Tips", items(&context.tips));
    let kept = |end| format!("Work that goes on beyond {end} is kept by {renewal}.");
    section("Time", context.claimed_until.map(kept).into_iter().collect());
    for review in context.review.iter().chain(&context.earlier) {
        let mut lines = items(&review.blockers);
        lines.extend(review.notes.iter().map(|notes| format!("\n{}", inert(notes.trim_end()))));
        section("Sent back", lines);
    }
    let task =
        [file.task.description.as_deref().unwrap_or_default(), file.body().trim_matches('\n')];
    let parts: Vec<String> =
        task.iter().filter(|part| !part.trim().is_empty()).map(|part| inert(part)).collect();
    section("Task", parts.join("\n\n").lines().map(str::to_owned).collect());
    text
}
