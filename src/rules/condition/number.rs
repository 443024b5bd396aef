//! Numbers to text and back, by JavaScript's rules.
//!
//! The standard library supplies the shortest digits that read back as the same number, and correctly rounded
//! reading; both are what JavaScript demands. Only the layout of the digits is ours.

/// Formats `number` as JavaScript's `String(number)` does.
pub(crate) fn format(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) =
        scientific.split_once('e').expect("`{:e}` always writes an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a small integer");
    let digits = mantissa.replace('.', "");
    format!("{sign}{}", layout(&digits, exponent))
}

/// Places the point among `digits`, whose first one stands for `10^exponent`.
fn layout(digits: &str, exponent: i32) -> String {
    let count = i32::try_from(digits.len()).expect("a double has at most 17 digits");
    match exponent {
        0..=20 if exponent >= count - 1 => {
            let zeros = "0".repeat(usize::try_from(exponent - count + 1).unwrap_or(0));
            format!("{digits}{zeros}")
        }
        0..=20 => {
            let (whole, fraction) = digits.split_at(usize::try_from(exponent + 1).unwrap_or(0));
            format!("{whole}.{fraction}")
        }
        -6..=-1 => {
            let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
            format!("0.{zeros}{digits}")
        }
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            format!("{first}{point}{rest}e{sign}{}", exponent.abs())
        }
    }
}

/// Reads `text` as JavaScript's `Number(text)` does; what is no number is NaN.
pub(crate) fn parse(text: &str) -> f64 {
    let text = text.trim_matches(is_space);
    if text.is_empty() {
        return 0.0;
    }
    let radix = match text.get(..2) {
        Some("0x" | "0X") => Some(16),
        Some("0o" | "0O") => Some(8),
        Some("0b" | "0B") => Some(2),
        _ => None,
    };
    if let Some(radix) = radix {
        return parse_radix(&text[2..], radix);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "Infinity" {
        return if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // Rust reads more than JavaScript does (`inf`, `nan`), so only decimal characters may reach it.
    if unsigned.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
        text.parse().unwrap_or(f64::NAN)
    } else {
        f64::NAN
    }
}

/// Reads a whole number of up to 64 bits; longer ones count as no number.
#[expect(clippy::cast_precision_loss, reason = "rounding to the nearest double is the meaning")]
fn parse_radix(digits: &str, radix: u32) -> f64 {
    if digits.starts_with('+') {
        return f64::NAN;
    }
    u64::from_str_radix(digits, radix).map_or(f64::NAN, |number| number as f64)
}

/// Returns whether JavaScript takes `character` for white space.
fn is_space(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

#[expect(clippy::cast_precision_loss, reason = "no length or position in memory reaches 2^53")]
pub(crate) fn to_f64(length: usize) -> f64 {
    length as f64
}
