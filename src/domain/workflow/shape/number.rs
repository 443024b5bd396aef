//! Numbers and values as JSON means them: `1` is `1.0`, and nothing is rounded on the way to a comparison.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Returns how two numbers compare, exactly.
pub(crate) fn compare(left: &Number, right: &Number) -> Ordering {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => with_float(left, right),
        (None, Some(right)) => with_float(right, left).reverse(),
        (None, None) => float(left).total_cmp(&float(right)),
    }
}

/// Tells whether the number has no fraction.
pub(crate) fn is_whole(number: &Number) -> bool {
    number.as_i128().is_some() || float(number).fract() == 0.0
}

/// Tells whether two values are the same, however their numbers are written and their keys are ordered.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

fn with_float(whole: i128, number: &Number) -> Ordering {
    let float = float(number);
    // Whole JSON numbers have 64 bits: beyond 2^100 the float is on its side of all of them, below it converts exactly.
    if float.abs() >= 1e30 {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    let text = format!("{:.0}", float.trunc());
    let trunc: i128 = text.parse().unwrap_or_default();
    whole.cmp(&trunc).then_with(|| 0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
}

fn float(number: &Number) -> f64 {
    // A JSON number that is no 64-bit integer is a finite float.
    number.as_f64().map_or(0.0, |float| if float == 0.0 { 0.0 } else { float })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn compares_exactly() {
        use Ordering::{Equal, Greater, Less};
        for (left, right, wanted) in [
            ("1", "1.0", Equal),
            ("0", "-0.0", Equal),
            ("0.0", "-0.0", Equal),
            ("1", "1.5", Less),
            ("-1", "-1.5", Greater),
            ("-2", "-1.5", Less),
            ("9007199254740993", "9007199254740992.0", Greater),
            ("18446744073709551615", "18446744073709551616.0", Less),
            ("18446744073709551615", "9223372036854775807", Greater),
            ("-9223372036854775808", "-9223372036854775808.0", Equal),
            ("5", "1e300", Less),
            ("5", "-1e300", Greater),
            ("0.1", "0.2", Less),
        ] {
            assert_eq!(compare(&number(left), &number(right)), wanted, "{left} {right}");
            assert_eq!(compare(&number(right), &number(left)), wanted.reverse(), "{right} {left}");
        }
        assert!(
            is_whole(&number("2.0")) && is_whole(&number("1e300")) && !is_whole(&number("0.5"))
        );
    }

    #[test]
    fn same_whatever_the_writing() {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert!(same(&value(r#"{"a": [1, 2.0], "b": 0}"#), &value(r#"{"b": 0.0, "a": [1.0, 2]}"#)));
        assert!(!same(&value("[1]"), &value("[1, 1]")));
        assert!(!same(&value("1"), &value("true")));
    }
}
