//! Budgets: the amounts that the programs of agents may spend, and the amounts that they spent.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{Period, length};

/// The amounts that programs may spend. A measure without an amount has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RunBudget {
    pub cost: Option<Money>,
    pub tokens: Option<TokenAmount>,
    /// The time that programs run.
    pub time: Option<Period>,
}

/// The budgets of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunBudgets {
    /// The budget of each task whose workflow sets none.
    pub task: RunBudget,
    /// The budget of all tasks together, from midnight to midnight.
    pub day: RunBudget,
}

/// The amounts that programs spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, Serialize)]
pub struct Spending {
    pub cost: Money,
    pub tokens: u64,
    pub seconds: u64,
}

impl RunBudget {
    /// Returns true if it limits nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns this budget, with the amounts of a wider one where it sets none.
    #[must_use]
    pub fn or(self, wider: Self) -> Self {
        Self {
            cost: self.cost.or(wider.cost),
            tokens: self.tokens.or(wider.tokens),
            time: self.time.or(wider.time),
        }
    }

    /// Returns true if one of the amounts is spent.
    pub fn is_spent(&self, spent: &Spending) -> bool {
        self.cost.is_some_and(|most| spent.cost >= most)
            || self.tokens.is_some_and(|most| spent.tokens >= most.0)
            || self.time.is_some_and(|most| spent.seconds >= most.seconds())
    }

    /// Returns what is spent of each amount, and what is left: `$3.20 of $20 ($16.80 left), 42m of 4h (3h 18m left)`.
    pub fn words(&self, spent: &Spending) -> String {
        let cost = self.cost.map(|most| {
            let left = Money(most.0.saturating_sub(spent.cost.0));
            format!("{} of {most} ({left} left)", spent.cost)
        });
        let tokens = self.tokens.map(|most| {
            let left = TokenAmount(most.0.saturating_sub(spent.tokens));
            format!("{} of {most} tokens ({left} left)", TokenAmount(spent.tokens))
        });
        let time = self.time.map(|most| {
            let left = most.seconds().saturating_sub(spent.seconds);
            format!(
                "{} of {} ({} left)",
                length(spent.seconds),
                length(most.seconds()),
                length(left)
            )
        });
        cost.into_iter().chain(tokens).chain(time).collect::<Vec<_>>().join(", ")
    }

    /// Returns what is spent, and the limits, for `--json`.
    pub fn value(&self, spent: &Spending) -> Value {
        let mut limits = Map::new();
        limits.extend(self.cost.map(|most| ("costUsd".to_owned(), json!(most.usd()))));
        limits.extend(self.tokens.map(|most| ("tokens".to_owned(), json!(most.0))));
        limits.extend(self.time.map(|most| ("seconds".to_owned(), json!(most.seconds()))));
        json!({"spent": spent.value(), "limit": limits})
    }
}

impl Spending {
    /// Returns true if nothing was spent.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub fn add(&mut self, more: &Self) {
        self.cost = Money(self.cost.0.saturating_add(more.cost.0));
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.seconds = self.seconds.saturating_add(more.seconds);
    }

    /// Returns the amounts for people: `$3.20, 1.2M tokens, 42m`.
    pub fn words(&self) -> String {
        format!("{}, {} tokens, {}", self.cost, TokenAmount(self.tokens), length(self.seconds))
    }

    /// Returns the amounts for `--json`.
    pub fn value(&self) -> Value {
        json!({"costUsd": self.cost.usd(), "tokens": self.tokens, "seconds": self.seconds})
    }
}

/// An amount of money: millionths of a US dollar.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Deserialize, Serialize,
)]
pub struct Money(u64);

/// The reason why a text is not an amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountFault {
    #[error("`{0}` is not an amount of money; write dollars, as in `20` or `0.50`")]
    Money(String),
    #[error("`{0}` is not a number of tokens; write it as in `500k`, `5M` or `5000000`")]
    Tokens(String),
    #[error("`{0}` is zero; leave the field out for no limit")]
    Zero(String),
}

const MILLION: u64 = 1_000_000;

impl Money {
    /// Returns the amount that a program reported. A negative or infinite number counts as zero, and too large a number as the largest amount.
    pub fn reported(usd: f64) -> Self {
        if !usd.is_finite() || usd <= 0.0 {
            return Self::default();
        }
        millionths(&format!("{usd:.6}")).map_or(Self(u64::MAX), Self)
    }

    /// Returns the amount in dollars.
    fn usd(self) -> f64 {
        let (whole, part) = (self.0 / MILLION, self.0 % MILLION);
        format!("{whole}.{part:06}").parse().unwrap_or_default()
    }
}

/// Returns the millionths of a decimal number without a sign; `None` if it is none, or too large.
fn millionths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 6 {
        return None;
    }
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(MILLION)?.checked_add(part)
}

impl FromStr for Money {
    type Err = AmountFault;

    fn from_str(text: &str) -> Result<Self, AmountFault> {
        let number = text.trim();
        match millionths(number.strip_prefix('$').unwrap_or(number)) {
            Some(0) => Err(AmountFault::Zero(text.to_owned())),
            Some(amount) => Ok(Self(amount)),
            None => Err(AmountFault::Money(text.to_owned())),
        }
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / MILLION, self.0 % MILLION);
        // Below a dollar, fractions of a cent are shown too.
        let digits = format!("{part:06}");
        let digits = &digits[..if whole > 0 { 2 } else { 4 }];
        match digits.trim_end_matches('0').len() {
            0 => write!(f, "${whole}"),
            length => write!(f, "${whole}.{}", &digits[..length.max(2)]),
        }
    }
}

/// A number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenAmount(pub u64);

impl FromStr for TokenAmount {
    type Err = AmountFault;

    fn from_str(text: &str) -> Result<Self, AmountFault> {
        let fault = || AmountFault::Tokens(text.to_owned());
        let (number, unit) = match text.trim() {
            short if short.ends_with(['k', 'K']) => (&short[..short.len() - 1], 1_000),
            short if short.ends_with('M') => (&short[..short.len() - 1], MILLION),
            short if short.ends_with('G') => (&short[..short.len() - 1], 1_000 * MILLION),
            plain => (plain, 1),
        };
        let all = u128::from(millionths(number).ok_or_else(fault)?) * u128::from(unit);
        let million = u128::from(MILLION);
        match u64::try_from(all / million).ok().filter(|_| all % million == 0) {
            Some(0) => Err(AmountFault::Zero(text.to_owned())),
            Some(count) => Ok(Self(count)),
            None => Err(fault()),
        }
    }
}

impl fmt::Display for TokenAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, letter) = match self.0 {
            0..1_000 => return write!(f, "{}", self.0),
            1_000..MILLION => (1_000, "k"),
            MILLION..1_000_000_000 => (MILLION, "M"),
            _ => (1_000 * MILLION, "G"),
        };
        let tenths = self.0 / (unit / 10);
        match tenths % 10 {
            0 => write!(f, "{}{letter}", tenths / 10),
            tenth => write!(f, "{}.{tenth}{letter}", tenths / 10),
        }
    }
}

crate::words::serialize_as_text!(TokenAmount);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, amount) in
            [("20", 20 * MILLION), ("0.5", 500_000), ("$0.50", 500_000), ("0.000001", 1)]
        {
            assert_eq!(text.parse(), Ok(Money(amount)), "{text}");
        }
        for text in [
            "",
            "-1",
            "+1",
            "1e3",
            "NaN",
            "inf",
            ".5",
            "5.",
            "0",
            "0.0000001",
            "1,5",
            "20000000000000000",
        ] {
            assert!(text.parse::<Money>().is_err(), "{text}");
        }
        for (text, count) in [
            ("5M", 5_000_000),
            ("500k", 500_000),
            ("1.5M", 1_500_000),
            ("7", 7),
            ("2G", 2_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(TokenAmount(count)), "{text}");
        }
        for text in ["", "M", "-5M", "0", "0.5", "5m", "1.0000001M", "99999999999999999999G"] {
            assert!(text.parse::<TokenAmount>().is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_are_shown_in_few_digits() {
        for (text, shown) in
            [("20", "$20"), ("3.2", "$3.20"), ("0.005", "$0.005"), ("0.25", "$0.25")]
        {
            assert_eq!(text.parse::<Money>().unwrap().to_string(), shown);
        }
        for (count, shown) in
            [(0, "0"), (999, "999"), (1_050, "1k"), (1_234_567, "1.2M"), (5_000_000, "5M")]
        {
            assert_eq!(TokenAmount(count).to_string(), shown);
        }
    }

    #[test]
    fn no_report_of_a_program_breaks_a_sum() {
        for (usd, amount) in [
            (f64::NAN, 0),
            (f64::NEG_INFINITY, 0),
            (-5.0, 0),
            (f64::INFINITY, 0),
            (1e300, u64::MAX),
            (0.1 + 0.2, 300_000),
            (1e-9, 0),
        ] {
            assert_eq!(Money::reported(usd), Money(amount), "{usd}");
        }
        let most = Spending { cost: Money(u64::MAX), tokens: u64::MAX, seconds: u64::MAX };
        let mut sum = most;
        sum.add(&most);
        assert_eq!(sum, most);
        let budget = RunBudget { cost: "20".parse().ok(), ..RunBudget::default() };
        assert!(budget.is_spent(&most) && !budget.is_spent(&Spending::default()));
        assert!(budget.words(&most).ends_with(" of $20 ($0 left)"));
    }

    #[test]
    fn a_measure_without_an_amount_is_free() {
        let task = RunBudget { cost: "2".parse().ok(), ..RunBudget::default() };
        let wider = RunBudget { cost: "20".parse().ok(), time: "4h".parse().ok(), tokens: None };
        let budget = task.or(wider);
        let mut spent =
            Spending { tokens: u64::MAX, seconds: 4 * 3_600 - 1, ..Spending::default() };
        assert!(!budget.is_spent(&spent));
        spent.seconds += 1;
        assert!(budget.is_spent(&spent));
        assert_eq!(budget.words(&spent), "$0 of $2 ($2 left), 4h of 4h (0s left)");
    }
}
