//! The functions that conditions may call.

use super::budget::{Budget, Outcome, Raised};
use super::methods::argument;
use super::text::Text;
use super::value::{Object, Value};
use super::{coerce, property};

macro_rules! builtins {
    ($($variant:ident $name:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Builtin {
            $($variant,)*
        }

        /// The names of all of them, for messages.
        pub(crate) const NAMES: &[&str] = &[$($name,)*];

        impl Builtin {
            pub(crate) fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

builtins! {
    Boolean "Boolean"
    Number "Number"
    String "String"
    IsArray "Array.isArray"
    Keys "Object.keys"
    Values "Object.values"
    Entries "Object.entries"
    HasOwn "Object.hasOwn"
    IsFinite "Number.isFinite"
    IsInteger "Number.isInteger"
    IsNan "Number.isNaN"
    Abs "Math.abs"
    Ceil "Math.ceil"
    Floor "Math.floor"
    Max "Math.max"
    Min "Math.min"
    Round "Math.round"
    Sign "Math.sign"
    Trunc "Math.trunc"
}

/// Calls `builtin`.
pub(crate) fn call<'a>(
    builtin: Builtin,
    arguments: &[Value<'a>],
    budget: &mut Budget,
) -> Outcome<Value<'a>> {
    let first = argument(arguments, 0);
    Ok(match builtin {
        Builtin::Boolean => Value::Bool(coerce::is_truthy(&first)),
        Builtin::Number if arguments.is_empty() => Value::Number(0.0),
        Builtin::Number => Value::Number(coerce::to_number(&first, budget)?),
        Builtin::String if arguments.is_empty() => Value::text(""),
        Builtin::String => Value::Text(coerce::to_text(&first, budget)?),
        Builtin::IsArray => Value::Bool(matches!(first, Value::List(_))),
        Builtin::Keys | Builtin::Values | Builtin::Entries => {
            let entries = entries(&first, budget)?;
            let mut listed = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                budget.step()?;
                listed.push(match builtin {
                    Builtin::Keys => Value::Text(key),
                    Builtin::Values => value,
                    _ => {
                        budget.build(2 * size_of::<Value<'_>>())?;
                        Value::list(vec![Value::Text(key), value])?
                    }
                });
            }
            Value::list(listed)?
        }
        Builtin::HasOwn => Value::Bool(property::owns(&first, &argument(arguments, 1), budget)?),
        Builtin::IsFinite => {
            Value::Bool(matches!(first, Value::Number(number) if number.is_finite()))
        }
        Builtin::IsInteger => Value::Bool(
            matches!(first, Value::Number(number) if number.is_finite() && number.fract() == 0.0),
        ),
        Builtin::IsNan => Value::Bool(matches!(first, Value::Number(number) if number.is_nan())),
        Builtin::Max => {
            Value::Number(extreme(arguments, f64::NEG_INFINITY, |new, best| new > best, budget)?)
        }
        Builtin::Min => {
            Value::Number(extreme(arguments, f64::INFINITY, |new, best| new < best, budget)?)
        }
        Builtin::Abs => Value::Number(coerce::to_number(&first, budget)?.abs()),
        Builtin::Ceil => Value::Number(coerce::to_number(&first, budget)?.ceil()),
        Builtin::Floor => Value::Number(coerce::to_number(&first, budget)?.floor()),
        Builtin::Round => Value::Number(round(coerce::to_number(&first, budget)?)),
        Builtin::Sign => Value::Number(sign(coerce::to_number(&first, budget)?)),
        Builtin::Trunc => Value::Number(coerce::to_number(&first, budget)?.trunc()),
    })
}

/// Returns the own enumerable properties of any value that has them.
fn entries<'a>(value: &Value<'a>, budget: &mut Budget) -> Outcome<Vec<(Text<'a>, Value<'a>)>> {
    let width = size_of::<(Text<'_>, Value<'_>)>();
    let index = |index: usize| Text::from(index.to_string());
    match value {
        Value::Undefined | Value::Null => {
            Err(Raised::new("Cannot convert undefined or null to object"))
        }
        Value::Bool(_) | Value::Number(_) => Ok(Vec::new()),
        Value::Text(text) => {
            budget.build(text.size() * width)?;
            let units = text.to_units(budget)?;
            let unit = |unit: &u16| Value::Text(Text::from_units(std::slice::from_ref(unit)));
            Ok(units.iter().enumerate().map(|(at, one)| (index(at), unit(one))).collect())
        }
        Value::List(list) => {
            budget.build(list.len() * width)?;
            Ok(list.iter().enumerate().map(|(at, item)| (index(at), item)).collect())
        }
        Value::Object(object) => of_object(object, budget),
    }
}

fn of_object<'a>(object: &Object<'a>, budget: &mut Budget) -> Outcome<Vec<(Text<'a>, Value<'a>)>> {
    let entries = object.entries(budget)?;
    Ok(entries.into_iter().map(|(key, value)| (Text::Borrowed(key), value)).collect())
}

fn extreme(
    arguments: &[Value<'_>],
    none: f64,
    is_better: fn(f64, f64) -> bool,
    budget: &mut Budget,
) -> Outcome<f64> {
    let mut best = none;
    for argument in arguments {
        budget.step()?;
        let number = coerce::to_number(argument, budget)?;
        // Zeros compare equal, yet JavaScript takes 0 for greater than -0.
        let is_better_zero =
            number == 0.0 && best == 0.0 && is_better(1f64.copysign(number), 1f64.copysign(best));
        if best.is_nan() {
            continue;
        }
        if number.is_nan() || is_better(number, best) || is_better_zero {
            best = number;
        }
    }
    Ok(best)
}

/// Rounds half up; what rounds to zero keeps its sign.
fn round(number: f64) -> f64 {
    let floor = number.floor();
    let rounded = if number - floor >= 0.5 { floor + 1.0 } else { floor };
    if number.is_finite() { rounded.copysign(number) } else { number }
}

fn sign(number: f64) -> f64 {
    if number == 0.0 || number.is_nan() { number } else { 1f64.copysign(number) }
}
