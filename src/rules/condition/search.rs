//! Finding one text in another, and splitting by it.

use super::budget::{Budget, Outcome};
use super::methods::Method;
use super::number::{clamp, to_f64, to_integer};
use super::text::Text;
use super::value::Value;
use super::{coerce, lists};

/// Answers `includes`, `indexOf`, `lastIndexOf`, `startsWith` and `endsWith`.
pub(crate) fn call<'a>(
    method: Method,
    text: &Text<'a>,
    wanted: &Value<'a>,
    position: &Value<'a>,
    budget: &mut Budget,
) -> Outcome<Value<'a>> {
    let wanted = coerce::to_text(wanted, budget)?;
    if let (Value::Undefined, Some(whole), Some(part)) = (position, text.as_str(), wanted.as_str())
    {
        budget.walk(whole.len())?;
        budget.walk(part.len())?;
        let found = match method {
            Method::Includes => return Ok(Value::Bool(whole.contains(part))),
            Method::StartsWith => return Ok(Value::Bool(whole.starts_with(part))),
            Method::EndsWith => return Ok(Value::Bool(whole.ends_with(part))),
            Method::IndexOf => whole.find(part),
            _ => whole.rfind(part),
        };
        return Ok(lists::position(found.map(|byte| whole[..byte].encode_utf16().count())));
    }
    let position = match (method, position) {
        (Method::EndsWith, Value::Undefined) => f64::INFINITY,
        _ => coerce::to_number(position, budget)?,
    };
    let (units, part) = (text.to_units(budget)?, wanted.to_units(budget)?);
    let start = clamp(to_integer(position), units.len());
    Ok(match method {
        Method::StartsWith => Value::Bool(units[start..].starts_with(&part)),
        Method::EndsWith => Value::Bool(units[..start].ends_with(&part)),
        Method::LastIndexOf => {
            // Here alone a position that is no number means "from the end".
            let end = if position.is_nan() { units.len() } else { start };
            lists::position(find_last(&units, &part, end, budget)?)
        }
        Method::IndexOf => lists::position(find(&units, &part, start, budget)?),
        _ => Value::Bool(find(&units, &part, start, budget)?.is_some()),
    })
}

/// `split`
pub(crate) fn split<'a>(
    text: &Text<'a>,
    separator: &Value<'a>,
    limit: &Value<'a>,
    budget: &mut Budget,
) -> Outcome<Value<'a>> {
    let limit = match limit {
        Value::Undefined => u32::MAX,
        limit => to_uint32(coerce::to_number(limit, budget)?),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let separator = match separator {
        Value::Undefined => {
            budget.build(size_of::<Value<'_>>())?;
            return Value::list([Value::Text(text.clone())].into_iter().take(limit).collect());
        }
        separator => coerce::to_text(separator, budget)?,
    };
    budget.walk(text.size())?;
    budget.walk(separator.size())?;
    let mut pieces = Pieces { kept: Vec::new(), limit, budget };
    match (text.as_str(), separator.as_str()) {
        (Some(whole), Some(separator)) if !separator.is_empty() => {
            let mut start = 0;
            for (found, _) in whole.match_indices(separator) {
                if pieces.push(|budget| text.bytes(start, found, budget))?.is_full() {
                    break;
                }
                start = found + separator.len();
            }
            pieces.push(|budget| text.bytes(start, whole.len(), budget))?;
        }
        _ => split_units(text, &separator, &mut pieces)?,
    }
    Value::list(pieces.kept)
}

/// The pieces of a split so far, each paid for.
struct Pieces<'b, 'a> {
    kept: Vec<Value<'a>>,
    limit: usize,
    budget: &'b mut Budget,
}

enum Room {
    Left,
    Full,
}

impl Room {
    fn is_full(&self) -> bool {
        matches!(self, Self::Full)
    }
}

impl<'a> Pieces<'_, 'a> {
    fn push(&mut self, piece: impl FnOnce(&mut Budget) -> Outcome<Text<'a>>) -> Outcome<Room> {
        if self.kept.len() >= self.limit {
            return Ok(Room::Full);
        }
        self.budget.step()?;
        self.budget.build(size_of::<Value<'_>>())?;
        self.kept.push(Value::Text(piece(self.budget)?));
        Ok(Room::Left)
    }
}

fn split_units<'a>(
    text: &Text<'a>,
    separator: &Text<'a>,
    pieces: &mut Pieces<'_, 'a>,
) -> Outcome<()> {
    let units = text.to_units(pieces.budget)?;
    let separator = separator.to_units(pieces.budget)?;
    let mut push = |units: &[u16]| {
        pieces.push(|budget| {
            budget.build(units.len() * 2)?;
            Ok(Text::from_units(units))
        })
    };
    if separator.is_empty() {
        for unit in &units {
            if push(std::slice::from_ref(unit))?.is_full() {
                break;
            }
        }
        return Ok(());
    }
    let mut start = 0;
    let mut at = 0;
    while at + separator.len() <= units.len() {
        if units[at..].starts_with(&separator) {
            if push(&units[start..at])?.is_full() {
                return Ok(());
            }
            at += separator.len();
            start = at;
        } else {
            at += 1;
        }
    }
    push(&units[start..]).map(|_| ())
}

fn find(units: &[u16], part: &[u16], start: usize, budget: &mut Budget) -> Outcome<Option<usize>> {
    let Some(last) = units.len().checked_sub(part.len()) else {
        return Ok(None);
    };
    for index in start..=last {
        budget.scan(32 + part.len())?;
        if units[index..].starts_with(part) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn find_last(
    units: &[u16],
    part: &[u16],
    end: usize,
    budget: &mut Budget,
) -> Outcome<Option<usize>> {
    let Some(last) = units.len().checked_sub(part.len()) else {
        return Ok(None);
    };
    for index in (0..=last.min(end)).rev() {
        budget.scan(32 + part.len())?;
        if units[index..].starts_with(part) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "reduced modulo 2^32 first"
)]
fn to_uint32(number: f64) -> u32 {
    if !number.is_finite() {
        return 0;
    }
    number.trunc().rem_euclid(to_f64(1 << 32)) as u32
}
