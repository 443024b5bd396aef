use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::yaml::{ParseLimits, line_column, parse};
use aof_domain::workflow::shape::schema::{of_outputs, of_shape};
use aof_domain::workflow::shape::{Variant, random};

fn outputs(text: &str) -> Outputs {
    let faults = Faults::default();
    let outputs = read(&parse(text, &ParseLimits::default()).unwrap(), &faults);
    let faults = faults.into_inner();
    assert!(faults.is_empty(), "{faults:#?}");
    outputs
}

/// Returns the faults as `line:column code: message (help)`.
fn wrong(text: &str) -> Vec<String> {
    let faults = Faults::default();
    let read = read(&parse(text, &ParseLimits::default()).unwrap(), &faults);
    assert_eq!(read, Outputs::Open, "what is wrong is not half read");
    faults
        .into_inner()
        .iter()
        .map(|fault| {
            let (line, column) = line_column(text, fault.span.start);
            let help = fault.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
            format!("{line}:{column} {}: {}{help}", fault.code, fault.message)
        })
        .collect()
}

#[test]
fn a_plain_object_is_one_shape() {
    let Outputs::One(shape) = outputs(
        "type: object
properties:
  branch: {type: string, description: where the work is, minLength: 1}
  files: {type: array, items: {type: string}, maxItems: 20}
  risk: {enum: [low, high], default: low}
  score: {type: [integer, \"null\"], minimum: 0, maximum: 10.0}
required: [branch]
",
    ) else {
        panic!()
    };
    let fields = shape.fields().unwrap();
    assert_eq!(fields.others, Others::LeftOut);
    assert!(fields.requires("branch") && !fields.requires("files"));
    assert_eq!(
        fields.get("branch").unwrap().about.description.as_deref(),
        Some("where the work is")
    );
    assert_eq!(fields.get("risk").unwrap().values, [json!("low"), json!("high")]);
    let words: Vec<_> = fields.get("score").unwrap().kinds.iter().map(ShapeKind::word).collect();
    assert_eq!(words, ["integer", "null"]);
}

#[test]
fn one_of_is_one_variant_for_each_way_out() {
    let Outputs::Variants(variants) = outputs(
        "oneOf:
  - properties:
      $status: {const: approved}
      branch: {type: string}
    required: [$status, branch]
  - properties:
      $status: {const: rejected}
      comments: {type: string}
",
    ) else {
        panic!()
    };
    let ways: Vec<_> = variants
        .iter()
        .map(|Variant { status, shape }| (status.as_str(), shape.fields().unwrap()))
        .collect();
    assert_eq!(
        ways.iter().map(|(status, _)| *status).collect::<Vec<_>>(),
        ["approved", "rejected"]
    );
    assert_eq!(ways[0].1.required, ["branch"]);
    assert_eq!(ways[1].1.properties.len(), 1);
    let outputs = Outputs::Variants(variants);
    assert_eq!(outputs.names(), ["branch", "comments"]);
    assert!(outputs.shape("Rejected").is_some() && outputs.shape("other").is_none());
    assert_eq!(
        of_outputs(&outputs).unwrap()["oneOf"][0],
        json!({
            "type": "object",
            "properties": {"$status": {"const": "approved"}, "branch": {"type": "string"}},
            "required": ["$status", "branch"],
        })
    );
}

#[test]
fn keywords_set_the_kind_and_the_use_of_undeclared_fields() {
    for (short, long) in [
        ("properties: {a: {}}", "{type: object, properties: {a: {}}}"),
        ("type: object", "{type: object, additionalProperties: true}"),
        ("{}", "{type: object, additionalProperties: true}"),
        (
            "properties: {a: {minLength: 1}, b: {maximum: 1}, c: {items: {const: 1}}}",
            "{properties: {a: {type: string, minLength: 1}, b: {type: number, maximum: 1}, c: {type: array, items: {const: 1}}}}",
        ),
        (
            "{properties: {a: {}, b: {}}, anyOf: [{required: [a]}, {required: [b]}]}",
            "{properties: {a: {}, b: {}}, anyOf: [{type: object, required: [a], additionalProperties: true}, {type: object, required: [b], additionalProperties: true}]}",
        ),
    ] {
        assert_eq!(outputs(short), outputs(long), "{short}");
    }
}

#[test]
fn everything_wrong_is_said_at_once_with_its_place() {
    insta::assert_snapshot!(
        wrong(
            "type: object
properties:
  a: {typ: string}
  b: {type: text}
  c: {pattern: \"^x\"}
  d: {$ref: \"#/x\"}
  e: {type: string, minimum: 3}
  f: {type: [string, null]}
  g: {minItems: 3, maxItems: 2}
  h: {enum: []}
  i: {const: 1, enum: [1]}
  j: {oneOf: [{type: string}]}
  k: {minLength: -1, maxLength: many}
  l: {minimum: 5, maximum: 4.5}
  m: [string]
  n: {type: string, required: true}
  o: {anyOf: []}
  p: {additionalProperties: {type: string}}
  q: {allOf: [{}]}
  $status: {enum: [approved, rejected]}
  p.r: {}
required: [m, mm, m, x y]
"
        )
        .join("\n"), @r#"
    3:7 unknown_field: a schema has no field `typ` (did you mean `type`?)
    4:13 invalid_value: `text` is no kind of value (did you mean `string`?)
    5:7 unknown_field: a schema has no field `pattern` (texts are not matched here: use `enum` for closed sets, else say it in `description`)
    6:7 unknown_field: a schema has no field `$ref` (references are not followed: write the schema out where it is needed, or use a YAML alias)
    7:21 dead_keyword: `minimum` is for `number`, and `type` does not name it: it would be ignored (remove it, or add `number` to `type`)
    8:22 invalid_value: this says nothing; the kind is a word (write `"null"` with quotes)
    9:20 contradiction: `maxItems` is less than `minItems`: no value fits both
    10:13 empty_list: `enum` lists nothing
    11:17 two_of_a_kind: `const` and `enum` both say which values there are (keep one of them)
    12:7 unknown_field: a schema has no field `oneOf` (`oneOf` stands at the top of `outputs`, for variants; inside, write `anyOf`)
    13:18 invalid_value: `minLength` is a whole number from 0, and this is `-1`
    13:33 wrong_kind: `maxLength` is a number, and this is a string
    14:19 contradiction: `maximum` is less than `minimum`: no value fits both
    15:6 wrong_kind: a schema is a mapping of fields, and this is a list
    16:21 dead_keyword: `required` is for `object`, and `type` does not name it: it would be ignored (remove it, or add `object` to `type`)
    16:31 wrong_kind: `required` is a list of names, and this is a yes or no (name the fields beside `properties`, as in `required: [branch]`)
    17:14 empty_list: `anyOf` lists nothing
    18:29 wrong_kind: `additionalProperties` is `true` or `false`, and this is a mapping
    19:7 unknown_field: a schema has no field `allOf` (its fields are `title`, `description`, `format`, `default`, `examples`, `enum`, `const`, `type`, `properties`, `additionalProperties`, `required`, `items`, `minItems`, `maxItems`, `minLength`, `maxLength`, `minimum`, `maximum`, `anyOf`)
    22:15 unknown_field: `mm` is required, and `properties` does not have it (declare it, or require one of `a`, `b`, `c`, `d`, `e`, `f`, `g`, `h`, `i`, `j`, `k`, `l`, `n`, `o`, `p`, `q`, `$status`, `p.r`)
    22:19 duplicate: `m` is required twice
    22:22 unknown_field: `x y` is required, and `properties` does not have it (declare it, or require one of `a`, `b`, `c`, `d`, `e`, `f`, `g`, `h`, `i`, `j`, `k`, `l`, `n`, `o`, `p`, `q`, `$status`, `p.r`)
    21:3 invalid_value: `p.r` is no name for an output (use letters, digits, `_` and `-`, at most 64: templates call it `{{gate.name}}`)
    20:3 misplaced_status: `$status` tells variants apart, and here there is one shape only (with one way out, leave it out; else write `oneOf` with one variant for each, as in `- {properties: {$status: {const: approved}}}`)
    "#);
}

#[test]
fn variants_are_distinguished() {
    insta::assert_snapshot!(
        wrong(
            "title: what a review hands on
oneOf:
  - properties: {$status: {const: approved}}
  - properties: {$status: {const: Approved}, a: {}}
  - properties: {$status: {enum: [b, c]}}
  - properties: {$status: {type: string}}
  - properties: {comments: {type: string}}
  - properties: {$status: {const: 3}}
  - properties: {$status: {const: \"\"}}
  - {}
  - rejected
required: [x]
"
        )
        .join("\n"), @"
    12:1 unknown_field: a choice of variants has no field `required` (what all variants have is declared in each of them)
    4:35 duplicate_variant: variants `approved` and `Approved` differ in case only, and case does not count (make one of them, with `anyOf` for what may differ)
    5:28 missing_status: a variant is for one `$status` (write `$status: {const: WORD}`, and a variant for each word)
    6:18 missing_status: this variant does not say which way out it is for (add `$status: {const: WORD}` to its `properties`)
    7:5 missing_status: this variant does not say which way out it is for (add `$status: {const: WORD}` to its `properties`)
    8:35 missing_status: `$status` is a word (write it in quotes)
    9:35 missing_status: `$status` is a word
    10:5 missing_status: this variant does not say which way out it is for (add `$status: {const: WORD}` to its `properties`)
    11:5 wrong_kind: a schema is a mapping of fields, and this is a string
    ");
    insta::assert_snapshot!(
        [wrong("oneOf: []"), wrong("oneOf: {a: 1}"), wrong("oneOf:"), wrong("type: string"), wrong("[a]"), wrong("type: [object, string]")]
            .concat()
            .join("\n"), @"
    1:1 empty_list: `oneOf` lists nothing
    1:8 wrong_kind: `oneOf` is a list of variants, and this is a mapping
    1:1 empty_list: `oneOf` lists nothing
    1:7 wrong_kind: outputs are an object, and this says `string` (write `type: object`, or leave `type` out)
    1:1 wrong_kind: a schema is a mapping of fields, and this is a list
    1:7 wrong_kind: outputs are an object, and this says `string` (write `type: object`, or leave `type` out)
    ");
}

#[test]
fn bombs_do_not_go_off() {
    let deep = format!("{}type: string{}", "{properties: {a: ".repeat(15), "}}".repeat(15))
        .replace("a: type", "a: {type");
    let deep = deep.replacen("string}", "string}}", 1);
    assert!(matches!(outputs(&deep), Outputs::One(_)), "{deep}");
    let deeper = format!("properties: {{a: {deep}}}");
    assert_eq!(wrong(&deeper)[0].split(' ').nth(1), Some("schema_too_deep:"));
    let wide: Vec<String> =
        (0..700).map(|i| format!("  f{i}: {{type: string, maxLength: 3}}")).collect();
    assert_eq!(
        wrong(&format!("properties:\n{}", wide.join("\n")))[0].split(' ').nth(1),
        Some("schema_too_large:")
    );
    // An alias counts as the value it stands for.
    let aliases =
        "properties:\n  a: &a {enum: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}\n"
            .to_owned();
    let many: Vec<String> = (0..200).map(|i| format!("  f{i}: *a")).collect();
    assert_eq!(
        wrong(&(aliases + &many.join("\n")))[0].split(' ').nth(1),
        Some("schema_too_large:")
    );
}

proptest! {
    #[test]
    fn a_schema_reads_back_as_its_shape(shape in random::objects()) {
        let schema = of_shape(&shape);
        let text = schema.to_string();
        let faults = Faults::default();
        let back = read(&parse(&text, &ParseLimits::default()).unwrap(), &faults);
        prop_assert_eq!(faults.into_inner(), []);
        prop_assert_eq!(&back, &Outputs::One(shape), "{}", text);
    }

    #[test]
    fn nothing_panics(value in random::values(), key in proptest::sample::select(&["type", "properties", "oneOf", "anyOf", "enum", "const", "items", "required", "minimum", "maxLength"][..])) {
        let text = json!({key: value, "properties": {"a": {key: value}}}).to_string();
        let node = parse(&text, &ParseLimits::default());
        if let Ok(node) = node {
            read(&node, &Faults::default());
        }
    }
}
