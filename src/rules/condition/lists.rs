//! The methods of lists that take no function.

use super::budget::{Budget, Outcome, Raised};
use super::coerce;
use super::methods::{Method, argument};
use super::number::{relative, to_f64, to_integer};
use super::text::Text;
use super::value::{List, Value};

/// How deep `flat` goes at most.
const MAX_NESTING: usize = 200;

/// Calls `method` of `list`, or returns `None` if lists have no such method.
pub(crate) fn call<'a>(
    method: Method,
    list: &List<'a>,
    arguments: &[Value<'a>],
    budget: &mut Budget,
) -> Outcome<Option<Value<'a>>> {
    let first = argument(arguments, 0);
    let start = argument(arguments, 1);
    Ok(Some(match method {
        Method::Includes => Value::Bool(
            find(list, &start, budget, |item, budget| coerce::same_value(item, &first, budget))?
                .is_some(),
        ),
        Method::IndexOf => position(find(list, &start, budget, |item, budget| {
            coerce::strictly_equal(item, &first, budget)
        })?),
        Method::LastIndexOf => position(find_last(list, &first, arguments.get(1), budget)?),
        Method::At => at(list, coerce::to_number(&first, budget)?),
        Method::Join => {
            let separator = match first {
                Value::Undefined => Text::Borrowed(","),
                separator => coerce::to_text(&separator, budget)?,
            };
            Value::Text(coerce::join(list, &separator, budget)?)
        }
        Method::Slice => slice(list, &first, &start, budget)?,
        Method::Concat => concat(list, arguments, budget)?,
        Method::Flat => {
            let depth = match first {
                Value::Undefined => 1.0,
                depth => to_integer(coerce::to_number(&depth, budget)?),
            };
            let mut flat = Vec::new();
            flatten(list, depth, MAX_NESTING, &mut flat, budget)?;
            Value::list(flat)?
        }
        _ => return Ok(None),
    }))
}

/// Resolves the optional `start` and `end` of a slice.
pub(crate) fn range(
    start: &Value<'_>,
    end: &Value<'_>,
    length: usize,
    budget: &mut Budget,
) -> Outcome<(usize, usize)> {
    let first = relative(coerce::to_number(start, budget)?, length);
    let last = match end {
        Value::Undefined => length,
        end => relative(coerce::to_number(end, budget)?, length),
    };
    Ok((first, last.max(first)))
}

/// Turns a position into the number that stands for it, -1 for none.
pub(crate) fn position(index: Option<usize>) -> Value<'static> {
    Value::Number(index.map_or(-1.0, to_f64))
}

fn find<'a>(
    list: &List<'a>,
    start: &Value<'a>,
    budget: &mut Budget,
    matches: impl Fn(&Value<'a>, &mut Budget) -> Outcome<bool>,
) -> Outcome<Option<usize>> {
    if list.len() == 0 {
        // JavaScript does not even look at the start then, so a start that has no number is no error.
        return Ok(None);
    }
    let start = relative(coerce::to_number(start, budget)?, list.len());
    for index in start..list.len() {
        budget.step()?;
        if list.get(index).map_or(Ok(false), |item| matches(&item, budget))? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn find_last<'a>(
    list: &List<'a>,
    wanted: &Value<'a>,
    start: Option<&Value<'a>>,
    budget: &mut Budget,
) -> Outcome<Option<usize>> {
    if list.len() == 0 {
        return Ok(None);
    }
    let end = match start {
        None => list.len(),
        Some(start) => {
            let start = to_integer(coerce::to_number(start, budget)?);
            let start = if start < 0.0 { start + to_f64(list.len()) } else { start };
            crate::rules::condition::number::clamp(start + 1.0, list.len())
        }
    };
    for index in (0..end).rev() {
        budget.step()?;
        if list
            .get(index)
            .map_or(Ok(false), |item| coerce::strictly_equal(&item, wanted, budget))?
        {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn at<'a>(list: &List<'a>, position: f64) -> Value<'a> {
    match resolve(position, list.len()) {
        Some(index) => list.get(index).unwrap_or(Value::Undefined),
        None => Value::Undefined,
    }
}

/// Resolves a position that counts from the end if negative, as `at` does.
pub(crate) fn resolve(position: f64, length: usize) -> Option<usize> {
    let position = to_integer(position);
    let position = if position < 0.0 { position + to_f64(length) } else { position };
    (position >= 0.0 && position < to_f64(length))
        .then(|| crate::rules::condition::number::clamp(position, length))
}

fn slice<'a>(
    list: &List<'a>,
    start: &Value<'a>,
    end: &Value<'a>,
    budget: &mut Budget,
) -> Outcome<Value<'a>> {
    let (start, end) = range(start, end, list.len(), budget)?;
    budget.build((end - start) * size_of::<Value<'_>>())?;
    Value::list((start..end).filter_map(|index| list.get(index)).collect())
}

fn concat<'a>(list: &List<'a>, others: &[Value<'a>], budget: &mut Budget) -> Outcome<Value<'a>> {
    budget.build(list.len() * size_of::<Value<'_>>())?;
    let mut all: Vec<Value<'a>> = list.iter().collect();
    for other in others {
        if let Value::List(other) = other {
            budget.build(other.len() * size_of::<Value<'_>>())?;
            all.extend(other.iter());
        } else {
            budget.build(size_of::<Value<'_>>())?;
            all.push(other.clone());
        }
    }
    Value::list(all)
}

fn flatten<'a>(
    list: &List<'a>,
    depth: f64,
    nesting: usize,
    flat: &mut Vec<Value<'a>>,
    budget: &mut Budget,
) -> Outcome<()> {
    let Some(nesting) = nesting.checked_sub(1) else {
        return Err(Raised::new(format!("`flat` goes at most {MAX_NESTING} deep")));
    };
    for item in list.iter() {
        budget.step()?;
        match item {
            Value::List(inner) if depth >= 1.0 => {
                flatten(&inner, depth - 1.0, nesting, flat, budget)?;
            }
            item => {
                budget.build(size_of::<Value<'_>>())?;
                flat.push(item);
            }
        }
    }
    Ok(())
}
