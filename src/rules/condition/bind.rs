//! Taking arguments apart: parameters by pattern, and the elements that a spread hands on.

use super::ast::Pattern;
use super::budget::{Budget, Outcome, Raised};
use super::property;
use super::text::Text;
use super::value::Value;

/// Appends to `locals` one value for every slot of `pattern`.
pub(crate) fn bind<'a>(
    pattern: &Pattern,
    value: Value<'a>,
    locals: &mut Vec<Value<'a>>,
    budget: &mut Budget,
) -> Outcome<()> {
    budget.step()?;
    match pattern {
        Pattern::Slot => locals.push(value),
        Pattern::Record(entries) => {
            if value.is_nullish() {
                return Err(match entries.first() {
                    Some((name, place, _)) => property::unreadable(name, &value).at(*place),
                    None => Raised::new(format!(
                        "Cannot read properties of {}",
                        property::describe(&value)
                    )),
                });
            }
            for (name, place, inner) in entries {
                let member =
                    property::get(&value, name, budget).map_err(|raised| raised.at(*place))?;
                bind(inner, member, locals, budget)?;
            }
        }
        Pattern::List(patterns) => {
            let mut elements = elements(&value, budget)?.into_iter();
            for inner in patterns {
                let element = elements.next().unwrap_or(Value::Undefined);
                if let Some(inner) = inner {
                    bind(inner, element, locals, budget)?;
                }
            }
        }
    }
    Ok(())
}

/// Returns what iterating over `value` yields: elements of a list, characters of a text.
pub(crate) fn elements<'a>(value: &Value<'a>, budget: &mut Budget) -> Outcome<Vec<Value<'a>>> {
    match value {
        Value::List(list) => {
            budget.build(list.len() * size_of::<Value<'_>>())?;
            Ok(list.iter().collect())
        }
        Value::Text(text) => characters(text, budget),
        _ => Err(Raised::new(format!("{} is not iterable", property::describe(value)))),
    }
}

fn characters<'a>(text: &Text<'a>, budget: &mut Budget) -> Outcome<Vec<Value<'a>>> {
    budget.build(text.size() * size_of::<Value<'_>>())?;
    Ok(match text {
        Text::Borrowed(text) => text
            .char_indices()
            .map(|(at, character)| Value::text(&text[at..at + character.len_utf8()]))
            .collect(),
        _ => char::decode_utf16(text.to_units(budget)?)
            .map(|character| match character {
                Ok(character) => Value::Text(character.to_string().into()),
                Err(half) => Value::Text(Text::from_units(&[half.unpaired_surrogate()])),
            })
            .collect(),
    })
}
