//! Random conditions over random scopes, evaluated by aof and by a real JavaScript engine: both must agree on the value, and on
//! whether there is one.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use rquickjs::{Context, Function, Runtime};
use serde_json::{Map, Value as Json, json};

use super::value::Value;
use super::{Condition, evaluate};

const CASES: u32 = 6_000;

/// Evaluates a source and describes its value exactly: every unit of a text, the sign of zero.
const ORACLE: &str = r#"
(source, tags, metadata, gateHistory) => {
    const describe = value => {
        if (value === undefined || value === null) return String(value);
        if (typeof value === 'boolean') return String(value);
        if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
        if (typeof value === 'string') {
            const units = [];
            for (let i = 0; i < value.length; i++) units.push(value.charCodeAt(i));
            return '"' + units.join('.') + '"';
        }
        if (Array.isArray(value)) return '[' + value.map(describe).join(',') + ']';
        return '{' + Object.keys(value).length + '}';
    };
    const run = new Function('tags', 'metadata', 'gateHistory', '"use strict"; return (' + source + ');');
    let value;
    try {
        value = run(JSON.parse(tags), JSON.parse(metadata), JSON.parse(gateHistory));
    } catch (error) {
        return 'error';
    }
    return (value ? 'truthy ' : 'falsy ') + describe(value);
}
"#;

fn describe(value: &Value<'_>) -> String {
    match value {
        Value::Undefined => "undefined".to_owned(),
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) if *number == 0.0 && number.is_sign_negative() => "-0".to_owned(),
        Value::Number(number) => crate::condition::value::format_number(*number),
        Value::Text(text) => {
            let units: Vec<String> = text.encode_utf16().map(|unit| unit.to_string()).collect();
            format!("\"{}\"", units.join("."))
        }
        Value::List(list) => {
            let items: Vec<String> = list.iter().map(|item| describe(&item)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => format!("{{{}}}", map.len()),
    }
}

/// Returns the value of our evaluator, in the oracle's words; `None` if it refuses a source that JavaScript would evaluate.
fn ours(source: &str, scope: &[(&str, &Json)]) -> Option<String> {
    let condition = Condition::compile(source, &["tags", "metadata", "gateHistory"])
        .unwrap_or_else(|faults| panic!("`{source}` does not compile: {faults:?}"));
    let describe_truth = |value: &Value<'_>| {
        let truth = if value.is_truthy() { "truthy" } else { "falsy" };
        format!("{truth} {}", describe(value))
    };
    match evaluate::evaluate(condition.source(), scope, describe_truth) {
        Ok(value) => Some(value),
        Err(error)
            if ["the condition", "a condition", "is not data"]
                .iter()
                .any(|words| error.message.contains(words)) =>
        {
            None
        }
        Err(error) => Some(format!("error {}", error.message)),
    }
}

/// Returns a runner with the same cases every time; if `PROPTEST_CASES` is set, with that many other ones.
fn runner() -> TestRunner {
    let config = Config { failure_persistence: None, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return TestRunner::new(config);
    }
    let cases = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(Config { cases: CASES, ..config }, cases)
}

#[test]
fn agrees_with_a_real_engine() {
    let runtime = Runtime::new().unwrap();
    let context = Context::full(&runtime).unwrap();
    context.with(|ctx| {
        let oracle: Function<'_> = ctx.eval(ORACLE).unwrap();
        let (refused, failed) = (Cell::new(0), Cell::new(0));
        let mut runner = runner();
        let cases = runner.config().cases;
        let result = runner.run(
            &(vec(any::<u8>(), 0..120), scope()),
            |(choices, (tags, metadata, history))| {
                let source = Source { choices: &choices, parameters: 0 }.any(4);
                let Some(ours) = ours(
                    &source,
                    &[("tags", &tags), ("metadata", &metadata), ("gateHistory", &history)],
                ) else {
                    refused.set(refused.get() + 1);
                    return Ok(());
                };
                let arguments =
                    (source.as_str(), tags.to_string(), metadata.to_string(), history.to_string());
                let theirs: String = oracle.call(arguments).unwrap();
                if ours.starts_with("error") {
                    failed.set(failed.get() + 1);
                }
                let agree =
                    ours == theirs || (ours.starts_with("error") && theirs.starts_with("error"));
                if agree {
                    Ok(())
                } else {
                    Err(TestCaseError::fail(format!("{source}\n  ours: {ours}\ntheirs: {theirs}")))
                }
            },
        );
        if let Err(error) = result {
            panic!("{error}");
        }
        assert!(
            refused.get() < cases / 10,
            "{} of {cases} were refused: too few were compared",
            refused.get()
        );
        assert!(
            failed.get() < cases / 2,
            "{} of {cases} failed in both: too few values were compared",
            failed.get()
        );
    });
}

const TEXTS: &[&str] = &[
    "",
    "a",
    "api",
    "security",
    " ",
    "0",
    "1",
    "10",
    "-1",
    "1e3",
    "0x1F",
    "  12\t",
    "Infinity",
    "-0",
    "NaN",
    "😀",
    "a😀b😀",
    "ÉÀß",
    "ΑΣ",
    "undefined",
    "a,b,c",
    "\u{feff}x\u{a0}",
    "\u{fffd}",
    "[object Object]",
    "1_000",
    "+5",
    ".5",
    "5.",
    "0b101",
];
const KEYS: &[&str] =
    &["foo", "bar", "gate", "outcome", "0", "1", "07", "length", "", "dealSize", "toString", "b c"];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "-2",
    "0.5",
    "-0.5",
    "1.5",
    "0.1",
    "0.2",
    "50000",
    "1e21",
    "1e-7",
    "123456789012345680000",
    "1e999",
    "-1e999",
    "-0",
    "4294967297",
    "5e-324",
    "0x1F",
];

fn scope() -> impl Strategy<Value = (Json, Json, Json)> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-3i32..12).prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1e9..1e9f64).prop_map(Json::from),
        select(TEXTS).prop_map(Json::from),
    ];
    let data = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::from),
            vec((select(KEYS), inner), 0..5).prop_map(|entries| {
                Json::from(
                    entries
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect::<Map<_, _>>(),
                )
            }),
        ]
    });
    let tags = vec(select(TEXTS).prop_map(Json::from), 0..5).prop_map(Json::from);
    let metadata = vec((select(KEYS), data.clone()), 0..6).prop_map(|entries| {
        Json::from(
            entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>(),
        )
    });
    let entry = (select(&["review", "test", "implement"][..]), select(&["complete", "needs_review"][..]), 0..9000u32)
        .prop_map(|(gate, outcome, duration)| json!({"gate": gate, "outcome": outcome, "duration": duration}));
    (tags, metadata, vec(entry, 0..4).prop_map(Json::from))
}

/// Writes a random expression of the allowed grammar; each choice takes a byte; without bytes, it is the simplest one.
struct Source<'c> {
    choices: &'c [u8],
    /// The number of parameters in force: `p0`, `p1`, ..
    parameters: usize,
}

impl Source<'_> {
    fn below(&mut self, limit: usize) -> usize {
        let Some((first, rest)) = self.choices.split_first() else {
            return 0;
        };
        self.choices = rest;
        usize::from(*first) % limit
    }

    fn pick<'s>(&mut self, from: &[&'s str]) -> &'s str {
        from[self.below(from.len())]
    }

    fn quoted(&mut self) -> String {
        let text = self.pick(TEXTS);
        json!(text).to_string()
    }

    fn any(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let depth = depth - 1;
        match self.below(14) {
            0 => self.leaf(),
            1 | 2 => self.list_method(depth),
            3 | 4 => self.text_method(depth),
            5 | 6 => self.member(depth),
            7 => format!("({}{})", self.pick(&["!", "-", "+"]), self.plain(depth)),
            8 => {
                let operator = self.pick(&["&&", "||", "??"]);
                format!("({} {operator} {})", self.any(depth), self.any(depth))
            }
            9 => {
                format!("({} {} {})", self.any(depth), self.pick(&["===", "!=="]), self.any(depth))
            }
            10 | 11 => {
                let operator =
                    self.pick(&["==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"]);
                format!("({} {operator} {})", self.plain(depth), self.plain(depth))
            }
            12 => format!("({} ? {} : {})", self.any(depth), self.any(depth), self.any(depth)),
            _ => self.list(depth),
        }
    }

    /// Writes an operand that is seldom a list or an object, which arithmetic refuses.
    fn plain(&mut self, depth: usize) -> String {
        match self.below(8) {
            0 => self.any(depth),
            1 => format!("{}.length", self.list(depth)),
            2 | 3 => self.text(depth),
            4 => self.pick(&["true", "false", "null", "undefined"]).to_owned(),
            5 => format!("({}.indexOf({}))", self.text(depth), self.quoted()),
            _ => format!("({})", self.pick(NUMBERS)),
        }
    }

    fn leaf(&mut self) -> String {
        match self.below(9) {
            0 => "tags".to_owned(),
            1 => "metadata".to_owned(),
            2 => "gateHistory".to_owned(),
            3 => self.pick(&["true", "false", "null", "undefined"]).to_owned(),
            4 => format!("({})", self.pick(NUMBERS)),
            5 => self.quoted(),
            _ if self.parameters > 0 => format!("p{}", self.below(self.parameters)),
            6 => format!("metadata[{}]", json!(self.pick(KEYS))),
            _ => format!("metadata.{}", self.pick(&["foo", "bar", "dealSize", "length"])),
        }
    }

    fn list(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&["tags", "gateHistory", "[]", "[1, 'a', null, 0 / 0]", "[[1, [2]], 'b']"])
                .to_owned();
        }
        let depth = depth - 1;
        match self.below(5) {
            0 => "tags".to_owned(),
            1 => "gateHistory".to_owned(),
            2 => format!("[{}, {}]", self.any(depth), self.any(depth)),
            3 => self.list_method(depth),
            _ => format!(
                "{}.{}({})",
                self.pick(&["tags", "gateHistory"]),
                self.pick(&["filter", "map"]),
                self.arrow(depth)
            ),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.quoted();
        }
        let depth = depth - 1;
        match self.below(6) {
            0 | 1 => self.quoted(),
            2 => format!("('' + {})", self.plain(depth)),
            3 => format!("({} + {})", self.text(depth), self.plain(depth)),
            4 => format!("{}.toLowerCase()", self.text(depth)),
            _ => format!("tags[{}]", self.pick(NUMBERS)),
        }
    }

    fn member(&mut self, depth: usize) -> String {
        match self.below(6) {
            0 => format!("{}?.{}", self.any(depth), self.pick(&["foo", "bar", "length"])),
            1 => format!("{}.{}", self.any(depth), self.pick(&["foo", "bar", "length"])),
            2 => format!("{}[{}]", self.list(depth), self.plain(depth)),
            3 => format!("metadata?.[{}].foo", self.text(depth)),
            4 => format!("({}?.foo).bar", self.any(depth)),
            _ => format!("{}.length", self.list(depth)),
        }
    }

    fn list_method(&mut self, depth: usize) -> String {
        let list = self.list(depth);
        if self.below(3) == 0 {
            return format!("{list}.{}({})", self.pick(&["includes", "indexOf"]), self.any(depth));
        }
        let method = self.pick(&["some", "every", "filter", "map"]);
        format!("{list}?.{method}({})", self.arrow(depth))
    }

    fn arrow(&mut self, depth: usize) -> String {
        let base = self.parameters;
        let (head, more) = match self.below(4) {
            0 => (format!("p{base}"), 1),
            1 => (format!("(p{base}, p{})", base + 1), 2),
            2 => (format!("(p{base}, p{}, p{}, p{})", base + 1, base + 2, base + 3), 4),
            _ => ("()".to_owned(), 0),
        };
        self.parameters += more;
        let body = self.any(depth);
        self.parameters = base;
        format!("{head} => ({body})")
    }

    fn text_method(&mut self, depth: usize) -> String {
        let text = self.text(depth);
        match self.below(4) {
            0 => format!("{text}.toLowerCase()"),
            1 => format!("{text}.length"),
            _ => {
                let method = self.pick(&["includes", "startsWith", "endsWith", "indexOf"]);
                format!("{text}.{method}({})", self.plain(depth))
            }
        }
    }
}
