use jsonschema::draft202012;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use aof_domain::Map;
use aof_domain::workflow::shape::schema::of_shape;
use aof_domain::workflow::shape::{Outputs, Shape, random};
use aof_files::config::decode::Faults;
use aof_files::config::shape_file::read;
use aof_files::yaml::{ParseLimits, parse};

fn shape(schema: &str) -> Shape {
    let faults = Faults::default();
    let outputs = read(&parse(schema, &ParseLimits::default()).unwrap(), &faults);
    assert_eq!(faults.into_inner(), []);
    let Outputs::One(shape) = outputs else { panic!("{outputs:?}") };
    shape
}

const PLAN: &str = "
properties:
  branch: {type: string, minLength: 1, description: where the work is}
  pr_url: {type: string, format: uri, maxLength: 40}
  risk: {enum: [low, medium, high], default: low}
  count: {type: integer, minimum: 1, maximum: 5}
  share: {type: [number, \"null\"]}
  done: {type: boolean}
  files:
    type: array
    minItems: 1
    maxItems: 3
    items: {type: object, properties: {path: {type: string}, lines: {type: integer}}, required: [path]}
  owner: {anyOf: [{type: string}, {properties: {name: {type: string}}, required: [name]}]}
  version: {const: 2}
  notes: {}
required: [branch, files]
";

fn problems_of(outputs: &Value) -> String {
    let problems = judge(&shape(PLAN), outputs.as_object().unwrap());
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("{}: {}", problem.code(), problem.message()))
        .collect();
    lines.join("\n")
}

#[test]
fn every_problem_is_reported_at_once_with_its_fix() {
    insta::assert_snapshot!(problems_of(&json!({
        "brnch": "x",
        "pr_url": "https://example.com/a/very/long/path/indeed",
        "risk": "hihg",
        "count": "3",
        "share": [1],
        "done": "true",
        "files": [{"path": 3}, {"lines": 1.5, "path": "a", "lnes": 2}, "b", {}],
        "owner": {"nam": "ada"},
        "version": 3,
        "something": {"else": true},
    })), @r#"
    missing_field: `branch` is missing: it is a text of at least 1 character, where the work is
    too_long: `pr_url` has 43 characters, and at most 40 are allowed: put the rest into a file and name it
    invalid_value: `risk` is `hihg`, and it is one of `low`, `medium`, `high`; did you mean `high`?
    wrong_type: `count` is a text, and it must be a whole number: write `3` without quotes
    wrong_type: `share` is a list, and it must be a number or null
    wrong_type: `done` is a text, and it must be `true` or `false`: write `true` without quotes
    too_many: `files` has 4 items, and at most 3 are allowed
    wrong_type: `files[0].path` is a whole number, and it must be a text: write `"3"`
    wrong_type: `files[1].lines` is a number, and it must be a whole number: it has a fraction
    unknown_field: `files[1].lnes` is not declared; there is `path`, `lines`
    wrong_type: `files[2]` is a text, and it must be an object
    missing_field: `files[3].path` is missing: it is a text
    no_alternative: `owner` fits none of its 2 forms; by the nearest one, `owner.name` is missing: it is a text; `owner.nam` is not declared; did you mean `name`?
    invalid_value: `version` is `3`, and it must be `2`
    unknown_field: `brnch` is not declared; did you mean `branch`?
    unknown_field: `something` is not declared; there is `branch`, `pr_url`, `risk`, `count`, `share`, `done`, `files`, `owner`, `version`, `notes`
    "#);
    insta::assert_snapshot!(problems_of(&json!({"branch": "", "files": [], "count": 9, "owner": 4, "notes": null})), @r#"
    too_short: `branch` has 0 characters, and at least 1 are wanted
    too_large: `count` is 9, and it must be at most 5
    too_few: `files` has 0 items, and at least 1 are wanted
    no_alternative: `owner` fits none of its 2 forms; by the nearest one, `owner` is a whole number, and it must be a text: write `"4"`
    "#);
    assert_eq!(
        problems_of(
            &json!({"branch": "b", "files": [{"path": "p"}], "count": 2.0, "share": null, "owner": {"name": "ada"}})
        ),
        ""
    );
}

#[test]
fn problems_are_data() {
    let problems = judge(
        &shape(PLAN),
        json!({"brnch": 1, "risk": "lw", "count": 0, "owner": {}}).as_object().unwrap(),
    );
    let data: Vec<Value> = problems.iter().map(Problem::to_value).collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&data).unwrap(), @r#"
    [
      {
        "path": "branch",
        "problem": "missing_field",
        "expected": "a text of at least 1 character",
        "message": "`branch` is missing: it is a text of at least 1 character, where the work is"
      },
      {
        "path": "files",
        "problem": "missing_field",
        "expected": "a list of 1 to 3 items, each an object with `path`, `lines`",
        "message": "`files` is missing: it is a list of 1 to 3 items, each an object with `path`, `lines`"
      },
      {
        "path": "risk",
        "problem": "invalid_value",
        "got": "lw",
        "expected": [
          "low",
          "medium",
          "high"
        ],
        "nearest": "low",
        "message": "`risk` is `lw`, and it is one of `low`, `medium`, `high`; did you mean `low`?"
      },
      {
        "path": "count",
        "problem": "too_small",
        "got": 0,
        "expected": {
          "atLeast": 1
        },
        "message": "`count` is 0, and it must be at least 1"
      },
      {
        "path": "owner",
        "problem": "no_alternative",
        "problems": [
          {
            "path": "owner.name",
            "problem": "missing_field",
            "expected": "a text",
            "message": "`owner.name` is missing: it is a text"
          }
        ],
        "message": "`owner` fits none of its 2 forms; by the nearest one, `owner.name` is missing: it is a text"
      },
      {
        "path": "brnch",
        "problem": "unknown_field",
        "expected": [
          "branch",
          "pr_url",
          "risk",
          "count",
          "share",
          "done",
          "files",
          "owner",
          "version",
          "notes"
        ],
        "nearest": "branch",
        "message": "`brnch` is not declared; did you mean `branch`?"
      }
    ]
    "#);
}

#[test]
fn fields_describe_their_values() {
    let lines: Vec<String> = fields(&shape(PLAN))
        .iter()
        .map(|field| {
            let need = if field.required { "required" } else { "optional" };
            let about =
                field.description.as_ref().map(|text| format!(" - {text}")).unwrap_or_default();
            let default = field
                .default
                .as_ref()
                .map(|value| format!(" (default {value})"))
                .unwrap_or_default();
            format!("{} ({need}): {}{about}{default}", field.name, field.form)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    branch (required): a text of at least 1 character - where the work is
    pr_url (optional): a text of at most 40 characters, written as `uri`
    risk (optional): one of `low`, `medium`, `high` (default "low")
    count (optional): a whole number from 1 to 5
    share (optional): a number or null
    done (optional): `true` or `false`
    files (required): a list of 1 to 3 items, each an object with `path`, `lines`
    files[].path (required): a text
    files[].lines (optional): a whole number
    owner (optional): a text, or an object with `name`
    version (optional): `2`
    notes (optional): any value
    "#);
    insta::assert_snapshot!(serde_json::to_string_pretty(&example(&shape(PLAN))).unwrap(), @r#"
    {
      "branch": "the branch",
      "pr_url": "https://example.com/1",
      "risk": "low",
      "count": 1,
      "share": 1,
      "done": true,
      "files": [
        {
          "path": "the path",
          "lines": 1
        }
      ],
      "owner": "the owner",
      "version": 2,
      "notes": "the notes"
    }
    "#);
}

#[test]
fn examples_prefer_values_that_people_wrote() {
    let given = example(&shape(
        "properties: {a: {type: string, default: d, examples: [e]}, b: {type: string, default: d}, c: {enum: [x, y]}, d: {const: 1}, f: {minLength: 20, maxLength: 21}, g: {type: integer, minimum: 2.5}, h: {maxLength: 2}, i: {type: integer, maximum: -0.5}}",
    ));
    let wanted = json!({"a": "e", "b": "d", "c": "x", "d": 1, "f": "the f...............", "g": 3, "h": "th", "i": -1});
    assert_eq!(given, wanted);
}

#[test]
fn texts_become_the_wanted_values() {
    let shape = shape(
        "properties: {text: {type: string}, any: {}, n: {type: integer}, b: {type: boolean}, e: {enum: [Low, 2]}, l: {type: array, items: {type: string}}, nl: {type: array, items: {type: number}}, o: {type: object}, maybe: {type: [\"null\", string]}}",
    );
    let fields = shape.fields().unwrap();
    for (name, text, wanted) in [
        ("text", " 3 ", json!("3")),
        ("any", "3", json!("3")),
        ("n", "3", json!(3)),
        ("n", "three", json!("three")),
        ("b", "true", json!(true)),
        ("b", "yes", json!("yes")),
        ("e", "low", json!("Low")),
        ("e", "2", json!(2)),
        ("e", "high", json!("high")),
        ("l", "a.rs, b.rs", json!(["a.rs", "b.rs"])),
        ("l", "- a, b\n- c", json!(["a, b", "c"])),
        ("l", "- a, b", json!(["a, b"])),
        ("l", "a\n\nb", json!(["a", "b"])),
        ("l", "[\"x\"]", json!(["x"])),
        ("l", "", json!([])),
        ("nl", "1, 2.5, x", json!([1, 2.5, "x"])),
        ("o", "{\"a\": 1}", json!({"a": 1})),
        ("maybe", "null", json!(null)),
        ("maybe", "x", json!("x")),
    ] {
        assert_eq!(from_text(fields.get(name).unwrap(), text), wanted, "{name} {text}");
    }
}

#[test]
fn a_requested_number_is_a_number() {
    let asked = shape(
        "{properties: {n: {type: number, maximum: 100}, i: {type: integer}, t: {type: string}, any: {}, e: {enum: [0.50, 2]}, \
         l: {type: array, items: {type: number}}, o: {anyOf: [{properties: {n: {type: number}}}, {type: 'null'}]}, \
         both: {type: [number, string]}}}",
    );
    let long = "12345678901234567890123";
    for (name, given, wanted) in [
        ("n", json!("85.50"), json!(85.5)),
        ("n", json!("1e3"), json!(1000.0)),
        ("n", json!("+5"), json!(5)),
        ("n", json!("33.333333333333333333"), json!(33.333_333_333_333_336)),
        ("n", json!("1e400"), json!("1e400")),
        ("n", json!("85.5"), json!("85.5")),
        ("n", json!("010"), json!("010")),
        ("n", json!("inf"), json!("inf")),
        ("i", json!("2.00"), json!(2.0)),
        ("i", json!("2.50"), json!("2.50")),
        ("i", json!(long), json!(1.234_567_890_123_456_8e22)),
        ("t", json!("1.10"), json!("1.10")),
        ("any", json!("1.10"), json!("1.10")),
        ("both", json!("1.10"), json!("1.10")),
        ("e", json!("0.50"), json!(0.5)),
        ("e", json!("0.70"), json!("0.70")),
        ("l", json!(["1.10", 2]), json!([1.1, 2])),
        ("o", json!({"n": "1.10"}), json!({"n": 1.1})),
    ] {
        let mut value = json!({ name: given });
        judge::as_numbers(&asked, &mut value);
        assert_eq!(value[name], wanted, "{name} {given}");
    }
}

#[test]
fn hostile_shapes_and_values_end() {
    // Alternatives inside alternatives are judged once each.
    let mut schema = "{type: string}".to_owned();
    for _ in 0..14 {
        schema = format!("{{anyOf: [{schema}, {{type: integer}}]}}");
    }
    let shape = shape(&format!("properties: {{a: {schema}}}"));
    let problems = judge(&shape, json!({"a": []}).as_object().unwrap());
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message().len() < 4_000, "{}", problems[0].message().len());
    let name = "\u{1b}[31m`\n";
    let problems = judge(&shape, json!({name: 1}).as_object().unwrap());
    assert_eq!(problems[0].message(), "`\\u{1b}[31m`\\n` is not declared; there is `a`");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn judges_as_json_schema_does(shape in random::shapes(), value in random::values()) {
        let schema = of_shape(&shape);
        let oracle = draft202012::new(&schema).unwrap();
        let problems = judge_value(&shape, &value);
        prop_assert_eq!(problems.is_empty(), oracle.is_valid(&value), "{} {} {:#?}", schema, value, problems);
        for problem in &problems {
            prop_assert!(!problem.message().is_empty());
            problem.to_value();
        }
    }

    #[test]
    fn made_up_examples_fit(kind in 0..6_usize, least in 0_u64..30, more in 0_u64..30, low in -50_i64..50, width in 1_i64..60) {
        let (most, high) = (least + more, low + width);
        let schema = match kind {
            0 => format!("{{type: string, minLength: {least}, maxLength: {most}}}"),
            1 => format!("{{type: array, minItems: {}, maxItems: {most}}}", least.min(8)),
            2 => format!("{{type: integer, minimum: {low}.5, maximum: {high}.5}}"),
            3 => format!("{{type: number, minimum: {low}, maximum: {high}}}"),
            4 => format!("{{type: integer, maximum: {low}.5}}"),
            _ => "{anyOf: [{type: boolean}, {type: string}]}".to_owned(),
        };
        let shape = shape(&format!("{{properties: {{a: {schema}}}, required: [a]}}"));
        let given = example(&shape);
        prop_assert_eq!(judge(&shape, given.as_object().unwrap()), vec![], "{} {}", schema, given);
        prop_assert_eq!(example(&shape), given);
    }
}

#[test]
fn a_thousand_faults_are_reported_a_hundred_times() {
    let list = shape("{properties: {items: {type: array, items: {type: integer}}}}");
    let many: Vec<&str> = vec!["x"; 5_000];
    let problems = judge(&list, json!({ "items": many }).as_object().unwrap());
    assert_eq!((problems.len(), problems[99].path.as_str()), (100, "items[99]"));
    let names: Map = (0..5_000).map(|number| (format!("name{number}"), json!(1))).collect();
    assert_eq!(judge(&list, &names).len(), 100);
}

#[test]
fn work_without_end_is_refused() {
    let forms: Vec<String> = (0..900).map(|number| format!("{{const: {number}}}")).collect();
    let forms = shape(&format!(
        "{{properties: {{items: {{type: array, items: {{anyOf: [{}]}}}}}}}}",
        forms.join(", ")
    ));
    let codes = |items: Vec<u32>| {
        let problems = judge(&forms, json!({ "items": items }).as_object().unwrap());
        problems.iter().map(Problem::code).collect::<Vec<_>>()
    };
    assert!(codes(vec![899; 200]).is_empty());
    assert_eq!(codes(vec![899; 16_000]), ["too_laborious"]);
    assert!(codes(vec![0; 16_000]).is_empty());
    assert_eq!(codes(vec![2_000; 16_000]), vec!["no_alternative"; 100]);
}
