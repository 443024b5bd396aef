//! Random shapes and values for property tests: small alphabets, so that shapes and values meet.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::prop_oneof;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::{About, Count, Interval, List, ObjectFields, Others, Shape, ShapeKind};

const NAMES: [&str; 4] = ["a", "b", "pr_url", "c-d"];
const TEXTS: [&str; 6] = ["", "a", "ab", "héé", "`x`\n{{a}}", "long enough"];

pub fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..5).prop_map(Value::from),
        select(vec![
            json!(1.0),
            json!(0.5),
            json!(-2.5),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1e300),
            json!(-0.0)
        ]),
        select(&TEXTS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let field =
            (select(&NAMES[..]), inner.clone()).prop_map(|(name, value)| (name.to_owned(), value));
        prop_oneof![
            vec(inner, 0..4).prop_map(Value::Array),
            vec(field, 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn about() -> impl Strategy<Value = About> {
    let text = || option::weighted(0.2, select(&TEXTS[..]).prop_map(str::to_owned));
    (text(), text(), text(), option::weighted(0.1, values()), vec(values(), 0..2)).prop_map(
        |(title, description, format, default, examples)| About {
            title,
            description,
            format,
            default,
            examples,
        },
    )
}

fn count() -> impl Strategy<Value = Count> {
    (option::of(0_u64..3), option::of(3_u64..6)).prop_map(|(least, most)| Count { least, most })
}

fn interval() -> impl Strategy<Value = Interval> {
    let low = select(vec![json!(-2), json!(0), json!(-2.5), json!(0.5), json!(i64::MIN)]);
    let high = select(vec![json!(1), json!(2.0), json!(4), json!(u64::MAX), json!(1e300)]);
    let number = |value: Value| if let Value::Number(number) = value { Some(number) } else { None };
    (option::of(low), option::of(high)).prop_map(move |(least, most)| Interval {
        least: least.and_then(number),
        most: most.and_then(number),
    })
}

fn fields(inner: impl Strategy<Value = Shape> + Clone) -> impl Strategy<Value = ObjectFields> {
    let names = subsequence(NAMES.to_vec(), 0..=4);
    let shapes = vec(inner, 4);
    let others = select(vec![Others::Refused, Others::Welcome]);
    (names, shapes, subsequence(NAMES.to_vec(), 0..=2), others).prop_map(
        |(names, shapes, required, others)| {
            let properties: Vec<(String, Shape)> =
                names.iter().map(|name| (*name).to_owned()).zip(shapes).collect();
            let declared = |name: &&str| others == Others::Welcome || names.contains(name);
            let required = required.into_iter().filter(declared).map(str::to_owned).collect();
            ObjectFields { properties, required, others }
        },
    )
}

fn kinds(
    inner: impl Strategy<Value = Shape> + Clone + 'static,
) -> impl Strategy<Value = Vec<ShapeKind>> {
    let list = (option::of(inner.clone()), count())
        .prop_map(|(items, length)| List { items: items.map(Box::new), length });
    // `number` and `integer` share their bounds in a schema.
    let parts = (fields(inner), list, count(), interval());
    (parts, subsequence((0..7).collect::<Vec<_>>(), 0..=3)).prop_map(
        |((fields, list, text, range), chosen)| {
            let kind = |index: usize| match index {
                0 => ShapeKind::Object(fields.clone()),
                1 => ShapeKind::List(list.clone()),
                2 => ShapeKind::Text(text),
                3 => ShapeKind::Number(range.clone()),
                4 => ShapeKind::Integer(range.clone()),
                5 => ShapeKind::Bool,
                _ => ShapeKind::Null,
            };
            chosen.into_iter().map(kind).collect()
        },
    )
}

pub fn shapes() -> BoxedStrategy<Shape> {
    let leaf = (about(), kinds(Just(Shape::default())), vec(values(), 0..3))
        .prop_map(|(about, kinds, values)| Shape { about, kinds, values, any_of: Vec::new() });
    leaf.prop_recursive(3, 16, 3, |inner| {
        let any_of = prop_oneof![3 => Just(Vec::new()), 1 => vec(inner.clone(), 1..3)];
        let values = prop_oneof![4 => Just(Vec::new()), 1 => vec(values(), 1..4)];
        (about(), kinds(inner), values, any_of).prop_map(|(about, kinds, values, any_of)| Shape {
            about,
            kinds,
            values,
            any_of,
        })
    })
    .boxed()
}

/// Random shapes of outputs as a whole: objects.
pub fn objects() -> impl Strategy<Value = Shape> {
    (shapes(), fields(shapes())).prop_map(|(shape, fields)| Shape {
        kinds: vec![ShapeKind::Object(fields)],
        values: Vec::new(),
        ..shape
    })
}
