//! A workflow as the text of a file: short, in block style, small values on one line. This module does not check its content.

use serde_json::{Map, Value};

use super::frontmatter::{Context, flow, indented, key, literal_header, push_spaces, scalar};

/// The longest line that a list or a mapping in brackets may produce, in characters.
const WIDTH: usize = 110;
/// The deepest nesting of brackets.
const DEPTH: usize = 3;
/// The number of lines up to which gates follow each other without a blank line.
const PARAGRAPH: usize = 6;

/// Returns the workflow as a YAML document. The gates, and the branches of forks, are the items of lists in block style.
pub fn render(workflow: &Map<String, Value>) -> String {
    let mut out = String::new();
    push_entries(&mut out, workflow, 0);
    out
}

fn push_entries(out: &mut String, map: &Map<String, Value>, column: usize) {
    for (name, value) in map {
        push_spaces(out, column);
        out.push_str(&key(name));
        out.push(':');
        push_value(out, name, value, column);
    }
}

fn push_value(out: &mut String, name: &str, value: &Value, column: usize) {
    if let Value::String(text) = value {
        return push_text(out, text, column);
    }
    let used = out.len() - out.rfind('\n').map_or(0, |at| at + 1);
    if let Some(line) = one_line(name, value, used) {
        out.push(' ');
        out.push_str(&line);
        out.push('\n');
        return;
    }
    out.push('\n');
    match value {
        Value::Object(map) => push_entries(out, map, column + 2),
        Value::Array(items) => push_items(out, items, column + 2),
        _ => {}
    }
}

fn push_text(out: &mut String, text: &str, column: usize) {
    out.push(' ');
    if let Some(header) = literal_header(text) {
        out.push_str(&header);
        out.push('\n');
        out.push_str(&indented(text, column + 2));
    } else {
        out.push_str(&scalar(&Value::String(text.to_owned()), Context::Block).unwrap_or_default());
        out.push('\n');
    }
}

fn push_items(out: &mut String, items: &[Value], column: usize) {
    let texts: Vec<String> = items.iter().map(|item| item_text(item, column)).collect();
    // If a gate is longer, blank lines separate all of them.
    let is_spaced = column <= 2 && texts.iter().any(|text| text.matches('\n').count() > PARAGRAPH);
    out.push_str(&texts.join(if is_spaced { "\n" } else { "" }));
}

fn item_text(item: &Value, column: usize) -> String {
    let mut out = " ".repeat(column) + "-";
    match item {
        Value::Object(map) if !map.is_empty() => {
            let mut lines = String::new();
            match one_line("", item, column + 1).filter(|_| !map.contains_key("id")) {
                Some(line) => lines.push_str(&format!("{line}\n")),
                None => push_entries(&mut lines, map, column + 2),
            }
            out.push(' ');
            out.push_str(lines.trim_start_matches(' '));
        }
        Value::String(text) => push_text(&mut out, text, column),
        other => out.push_str(&format!(" {}\n", flow(other))),
    }
    out
}

/// Returns the value in brackets, if it is small enough for one line.
fn one_line(name: &str, value: &Value, used: usize) -> Option<String> {
    if let Some(text) = scalar(value, Context::Block) {
        return Some(text);
    }
    let own_lines =
        matches!(name, "gates" | "branches" | "routes" | "input" | "expectations" | "tips");
    if own_lines || !is_small(value, DEPTH) {
        return None;
    }
    let text = flow(value);
    (used + text.chars().count() < WIDTH).then_some(text)
}

fn is_small(value: &Value, depth: usize) -> bool {
    match value {
        Value::Object(map) => depth > 0 && map.values().all(|value| is_small(value, depth - 1)),
        Value::Array(items) => depth > 0 && items.iter().all(|value| is_small(value, depth - 1)),
        Value::String(text) => !text.contains('\n'),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::yaml::{ParseLimits, parse};

    #[test]
    fn a_workflow_is_written_as_people_write_it() {
        let long = "Do it well.\n\n- {{task}}\n  as asked\n";
        let value = json!({
            "name": "review",
            "context": {"input": {"repo": "", "tries": 3}},
            "gates": [
                {"id": "work", "role": "worker", "outputs": {"changes": {"type": "string"}},
                 "brief": {"instructions": long, "reentry": {"instructions": "Mend it."}}},
                {"id": "check", "role": "checker",
                 "routes": {"good": "$next", "bad": {"to": "work", "prompt": "mend: {{changes}}"}, "true": "$end"},
                 "maxRetries": 2, "metadata": {}},
                {"id": "no", "role": "x", "brief": {"instructions": "*not* an alias: `#x`", "tips": ["a: b", "c"]}},
            ],
        });
        let Value::Object(map) = &value else { unreachable!() };
        let text = render(map);
        insta::assert_snapshot!(text, @r#"
        name: review
        context: {input: {repo: "", tries: 3}}
        gates:
          - id: work
            role: worker
            outputs: {changes: {type: string}}
            brief:
              instructions: |
                Do it well.

                - {{task}}
                  as asked
              reentry: {instructions: Mend it.}

          - id: check
            role: checker
            routes:
              good: $next
              bad: {to: work, prompt: "mend: {{changes}}"}
              "true": $end
            maxRetries: 2
            metadata: {}

          - id: "no"
            role: x
            brief: {instructions: "*not* an alias: `#x`", tips: ["a: b", c]}
        "#);
        assert_eq!(parse(&text, &ParseLimits::default()).unwrap().to_value(), value);
    }
}
