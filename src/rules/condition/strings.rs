//! The methods of texts. Positions and lengths count UTF-16 units, as JavaScript's do.

use super::budget::{Budget, Outcome, Raised};
use super::methods::{Method, argument};
use super::number::{clamp, to_f64, to_integer};
use super::text::{Text, is_space};
use super::value::Value;
use super::{coerce, lists, search};

/// Calls `method` of `text`, or returns `None` if texts have no such method.
pub(crate) fn call<'a>(
    method: Method,
    text: &Text<'a>,
    arguments: &[Value<'a>],
    budget: &mut Budget,
) -> Outcome<Option<Value<'a>>> {
    let first = argument(arguments, 0);
    let second = argument(arguments, 1);
    Ok(Some(match method {
        Method::Includes
        | Method::IndexOf
        | Method::LastIndexOf
        | Method::StartsWith
        | Method::EndsWith => {
            return search::call(method, text, &first, &second, budget).map(Some);
        }
        Method::Split => search::split(text, &first, &second, budget)?,
        Method::At => at(text, &first, budget)?,
        Method::CharAt => Value::Text(char_at(text, &first, budget)?),
        Method::Slice => {
            let (start, end) = lists::range(&first, &second, text.length(budget)?, budget)?;
            Value::Text(text.slice(start, end, budget)?)
        }
        Method::Substring => Value::Text(substring(text, &first, &second, budget)?),
        Method::Concat => {
            let mut all = text.clone();
            for argument in arguments {
                let argument = coerce::to_text(argument, budget)?;
                all = all.concat(&argument, budget)?;
            }
            Value::Text(all)
        }
        Method::Repeat => Value::Text(repeat(text, coerce::to_number(&first, budget)?, budget)?),
        Method::PadStart | Method::PadEnd => {
            Value::Text(pad(method, text, &first, &second, budget)?)
        }
        Method::Trim | Method::TrimStart | Method::TrimEnd => {
            Value::Text(trim(method, text, budget)?)
        }
        Method::ToLowerCase => Value::Text(change_case(text, str::to_lowercase, budget)?),
        Method::ToUpperCase => Value::Text(change_case(text, str::to_uppercase, budget)?),
        _ => return Ok(None),
    }))
}

fn at<'a>(text: &Text<'a>, position: &Value<'a>, budget: &mut Budget) -> Outcome<Value<'a>> {
    let length = text.length(budget)?;
    Ok(match lists::resolve(coerce::to_number(position, budget)?, length) {
        Some(index) => Value::Text(text.slice(index, index + 1, budget)?),
        None => Value::Undefined,
    })
}

fn char_at<'a>(text: &Text<'a>, position: &Value<'a>, budget: &mut Budget) -> Outcome<Text<'a>> {
    let position = to_integer(coerce::to_number(position, budget)?);
    let length = text.length(budget)?;
    if position < 0.0 || position >= to_f64(length) {
        return Ok(Text::Borrowed(""));
    }
    let index = clamp(position, length);
    text.slice(index, index + 1, budget)
}

fn substring<'a>(
    text: &Text<'a>,
    start: &Value<'a>,
    end: &Value<'a>,
    budget: &mut Budget,
) -> Outcome<Text<'a>> {
    let length = text.length(budget)?;
    let start = clamp(coerce::to_number(start, budget)?, length);
    let end = match end {
        Value::Undefined => length,
        end => clamp(coerce::to_number(end, budget)?, length),
    };
    text.slice(start.min(end), start.max(end), budget)
}

fn repeat<'a>(text: &Text<'a>, count: f64, budget: &mut Budget) -> Outcome<Text<'a>> {
    let count = to_integer(count);
    if count < 0.0 || count.is_infinite() {
        return Err(Raised::new("Invalid count value"));
    }
    if text.is_empty() {
        return Ok(Text::Borrowed(""));
    }
    let count = clamp(count, usize::MAX / text.size());
    budget.build(text.size() * count)?;
    Ok(match text.as_str() {
        Some(text) => text.repeat(count).into(),
        None => Text::from_units(&text.to_units(budget)?.repeat(count)),
    })
}

fn pad<'a>(
    method: Method,
    text: &Text<'a>,
    target: &Value<'a>,
    filler: &Value<'a>,
    budget: &mut Budget,
) -> Outcome<Text<'a>> {
    let target = to_integer(coerce::to_number(target, budget)?);
    let length = text.length(budget)?;
    let filler = match filler {
        Value::Undefined => Text::Borrowed(" "),
        filler => coerce::to_text(filler, budget)?,
    };
    if target <= to_f64(length) || filler.is_empty() {
        return Ok(text.clone());
    }
    let missing = clamp(target - to_f64(length), usize::MAX / 4);
    budget.build(missing * 2)?;
    let units: Vec<u16> = filler.to_units(budget)?.into_iter().cycle().take(missing).collect();
    let padding = Text::from_units(&units);
    if method == Method::PadStart {
        padding.concat(text, budget)
    } else {
        text.concat(&padding, budget)
    }
}

fn trim<'a>(method: Method, text: &Text<'a>, budget: &mut Budget) -> Outcome<Text<'a>> {
    let at_start = method != Method::TrimEnd;
    let at_end = method != Method::TrimStart;
    budget.walk(text.size())?;
    if let Some(whole) = text.as_str() {
        let rest = if at_start { whole.trim_start_matches(is_space) } else { whole };
        let start = whole.len() - rest.len();
        let kept = if at_end { rest.trim_end_matches(is_space) } else { rest };
        return text.bytes(start, start + kept.len(), budget);
    }
    // No space lies outside the basic plane, so units can be looked at one by one.
    let units = text.to_units(budget)?;
    let is_kept = |unit: &u16| !char::from_u32(u32::from(*unit)).is_some_and(is_space);
    let first = units.iter().position(is_kept).unwrap_or(0);
    let last = units.iter().rposition(is_kept).map_or(0, |last| last + 1);
    text.slice(if at_start { first } else { 0 }, if at_end { last } else { units.len() }, budget)
}

fn change_case<'a>(
    text: &Text<'a>,
    change: fn(&str) -> String,
    budget: &mut Budget,
) -> Outcome<Text<'a>> {
    // A character's other case takes at most three times its bytes.
    budget.build(text.size() * 3)?;
    budget.walk(text.size() * 4)?;
    if let Some(text) = text.as_str() {
        return Ok(change(text).into());
    }
    let mut changed = Vec::with_capacity(text.size() / 2);
    for character in char::decode_utf16(text.to_units(budget)?) {
        match character {
            Ok(character) => {
                changed.extend(change(character.encode_utf8(&mut [0; 4])).encode_utf16());
            }
            Err(half) => changed.push(half.unpaired_surrogate()),
        }
    }
    Ok(Text::from_units(&changed))
}
