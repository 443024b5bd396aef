//! The names that JavaScript finds by inheritance and conditions never do.

use super::value::Value;

/// Names that no condition may read, whoever owns them.
const FORBIDDEN: [&str; 3] = ["constructor", "__proto__", "prototype"];

/// What every object inherits; like the lists below, sorted.
const OF_OBJECTS: &[&str] = &[
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// What lists inherit besides.
const OF_LISTS: &[&str] = &[
    "at",
    "concat",
    "copyWithin",
    "entries",
    "every",
    "fill",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "flat",
    "flatMap",
    "forEach",
    "includes",
    "indexOf",
    "join",
    "keys",
    "lastIndexOf",
    "map",
    "pop",
    "push",
    "reduce",
    "reduceRight",
    "reverse",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "toReversed",
    "toSorted",
    "toSpliced",
    "unshift",
    "values",
    "with",
];

/// What texts inherit besides.
const OF_TEXTS: &[&str] = &[
    "anchor",
    "at",
    "big",
    "blink",
    "bold",
    "charAt",
    "charCodeAt",
    "codePointAt",
    "concat",
    "endsWith",
    "fixed",
    "fontcolor",
    "fontsize",
    "includes",
    "indexOf",
    "isWellFormed",
    "italics",
    "lastIndexOf",
    "link",
    "localeCompare",
    "match",
    "matchAll",
    "normalize",
    "padEnd",
    "padStart",
    "repeat",
    "replace",
    "replaceAll",
    "search",
    "slice",
    "small",
    "split",
    "startsWith",
    "strike",
    "sub",
    "substr",
    "substring",
    "sup",
    "toLocaleLowerCase",
    "toLocaleUpperCase",
    "toLowerCase",
    "toUpperCase",
    "toWellFormed",
    "trim",
    "trimEnd",
    "trimLeft",
    "trimRight",
    "trimStart",
];

/// What numbers inherit besides.
const OF_NUMBERS: &[&str] = &["toExponential", "toFixed", "toPrecision"];

/// Returns whether `name` leads away from the data, to what JavaScript keeps behind every value.
pub(crate) fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.contains(&name)
}

/// Returns whether JavaScript would find `name` behind `value`, where its own properties end.
pub(crate) fn is_inherited(value: &Value<'_>, name: &str) -> bool {
    let more = match value {
        Value::List(_) => OF_LISTS,
        Value::Text(_) => OF_TEXTS,
        Value::Number(_) => OF_NUMBERS,
        _ => &[],
    };
    OF_OBJECTS.binary_search(&name).is_ok() || more.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::condition::methods::Method;

    #[test]
    fn inherited_names_are_sorted_and_hold_every_method() {
        for names in [OF_OBJECTS, OF_LISTS, OF_TEXTS, OF_NUMBERS] {
            assert!(names.is_sorted(), "{names:?}");
        }
        for method in Method::ALL {
            let name = method.name();
            assert!(OF_LISTS.contains(&name) || OF_TEXTS.contains(&name), "{name}");
        }
    }
}
