//! The methods that conditions may call.

use super::budget::{Budget, Outcome, Raised};
use super::number::to_f64;
use super::value::{List, Text, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Includes,
    Some,
    Every,
    Filter,
    Map,
    StartsWith,
    EndsWith,
    IndexOf,
    ToLowerCase,
}

/// What a call of a method brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Value,
    Function,
}

impl Method {
    pub(crate) const ALL: [Self; 9] = [
        Self::Includes,
        Self::Some,
        Self::Every,
        Self::Filter,
        Self::Map,
        Self::StartsWith,
        Self::EndsWith,
        Self::IndexOf,
        Self::ToLowerCase,
    ];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Includes => "includes",
            Self::Some => "some",
            Self::Every => "every",
            Self::Filter => "filter",
            Self::Map => "map",
            Self::StartsWith => "startsWith",
            Self::EndsWith => "endsWith",
            Self::IndexOf => "indexOf",
            Self::ToLowerCase => "toLowerCase",
        }
    }

    pub(crate) fn takes(self) -> Takes {
        match self {
            Self::ToLowerCase => Takes::Nothing,
            Self::Some | Self::Every | Self::Filter | Self::Map => Takes::Function,
            _ => Takes::Value,
        }
    }

    /// Calls a method that takes no function.
    pub(crate) fn call<'a>(
        self,
        receiver: &Value<'a>,
        argument: &Value<'a>,
        budget: &mut Budget,
    ) -> Outcome<Value<'a>> {
        match receiver {
            Value::List(list) => match self {
                Self::Includes => {
                    let found =
                        position(list, budget, |item, budget| item.is_same_as(argument, budget))?;
                    return Ok(Value::Bool(found.is_some()));
                }
                Self::IndexOf => {
                    let found = position(list, budget, |item, budget| {
                        item.strictly_equals(argument, budget)
                    })?;
                    return Ok(index(found));
                }
                _ => {}
            },
            Value::Text(text) if self.takes() != Takes::Function => {
                return self.of_text(text, argument, budget);
            }
            _ => {}
        }
        Err(self.not_a_function_of(receiver))
    }

    fn of_text<'a>(
        self,
        text: &Text<'a>,
        argument: &Value<'a>,
        budget: &mut Budget,
    ) -> Outcome<Value<'a>> {
        budget.walk(text.len())?;
        if self == Self::ToLowerCase {
            // A character's lower case takes at most three times its bytes.
            budget.build(text.len() * 3)?;
            return Ok(Value::Text(text.to_lowercase().into()));
        }
        let wanted = argument.to_text(budget)?;
        budget.walk(wanted.len())?;
        Ok(match self {
            Self::Includes => Value::Bool(text.contains(&*wanted)),
            Self::StartsWith => Value::Bool(text.starts_with(&*wanted)),
            Self::EndsWith => Value::Bool(text.ends_with(&*wanted)),
            // JavaScript counts in UTF-16 units.
            _ => index(text.find(&*wanted).map(|byte| text[..byte].encode_utf16().count())),
        })
    }

    /// The failure of calling this method of a value that does not have it.
    pub(crate) fn not_a_function_of(self, receiver: &Value<'_>) -> Raised {
        Raised::new(format!("`{}` is not a function of {}", self.name(), receiver.describe()))
    }
}

fn position<'a>(
    list: &List<'a>,
    budget: &mut Budget,
    matches: impl Fn(&Value<'a>, &mut Budget) -> Outcome<bool>,
) -> Outcome<Option<usize>> {
    for (index, item) in list.iter().enumerate() {
        budget.step()?;
        if matches(&item, budget)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn index(found: Option<usize>) -> Value<'static> {
    Value::Number(found.map_or(-1.0, to_f64))
}
