//! The methods that conditions may call, by name, and which kinds of value have them.

use super::budget::{Budget, Outcome, Raised};
use super::value::Value;
use super::{lists, property, strings};

macro_rules! methods {
    ($($variant:ident $name:literal)*) => {
        /// A method of lists or texts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Method {
            $($variant,)*
        }

        impl Method {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            pub(crate) fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

methods! {
    At "at"
    CharAt "charAt"
    Concat "concat"
    EndsWith "endsWith"
    Every "every"
    Filter "filter"
    Find "find"
    FindIndex "findIndex"
    FindLast "findLast"
    FindLastIndex "findLastIndex"
    Flat "flat"
    FlatMap "flatMap"
    Includes "includes"
    IndexOf "indexOf"
    Join "join"
    LastIndexOf "lastIndexOf"
    Map "map"
    PadEnd "padEnd"
    PadStart "padStart"
    Reduce "reduce"
    Repeat "repeat"
    Slice "slice"
    Some "some"
    Split "split"
    StartsWith "startsWith"
    Substring "substring"
    ToLowerCase "toLowerCase"
    ToUpperCase "toUpperCase"
    Trim "trim"
    TrimEnd "trimEnd"
    TrimStart "trimStart"
}

impl Method {
    /// Returns whether the first argument must be a function.
    pub(crate) fn takes_arrow(self) -> bool {
        matches!(
            self,
            Self::Every
                | Self::Filter
                | Self::Find
                | Self::FindIndex
                | Self::FindLast
                | Self::FindLastIndex
                | Self::FlatMap
                | Self::Map
                | Self::Reduce
                | Self::Some
        )
    }
}

/// Calls a method that takes no function.
pub(crate) fn call<'a>(
    method: Method,
    receiver: &Value<'a>,
    arguments: &[Value<'a>],
    budget: &mut Budget,
) -> Outcome<Value<'a>> {
    let result = match receiver {
        Value::List(list) => lists::call(method, list, arguments, budget)?,
        Value::Text(text) => strings::call(method, text, arguments, budget)?,
        _ => None,
    };
    result.ok_or_else(|| not_a_function(method, receiver))
}

/// The failure of calling a method that `receiver` does not have.
pub(crate) fn not_a_function(method: Method, receiver: &Value<'_>) -> Raised {
    let receiver = property::describe(receiver);
    Raised::new(format!("`{}` is not a function of {receiver}", method.name()))
}

/// Returns argument `index`, or undefined.
pub(crate) fn argument<'a>(arguments: &[Value<'a>], index: usize) -> Value<'a> {
    arguments.get(index).cloned().unwrap_or(Value::Undefined)
}
