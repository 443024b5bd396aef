//! Tables of conditions: their results, the constructs that they must not contain, and the steps that they may use.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{Condition, ConditionFault, FaultKind};

const NAMES: &[&str] = &["tags", "metadata", "gateHistory"];

fn compile(source: &str) -> Condition {
    Condition::compile(source, NAMES).unwrap_or_else(|fault| panic!("`{source}`: {fault:?}"))
}

fn fault(source: &str) -> ConditionFault {
    match Condition::compile(source, NAMES) {
        Ok(_) => panic!("`{source}` compiles"),
        Err(mut faults) => faults.remove(0),
    }
}

#[test]
fn faults_of_several_operands_are_reported_together() {
    let faults = |source: &str| -> Vec<String> {
        let faults = Condition::compile(source, NAMES).unwrap_err();
        faults
            .into_iter()
            .map(|fault| format!("{}: {}", &source[fault.range], fault.message))
            .collect()
    };
    assert_eq!(
        faults("tags.include('x') && foo || (1 ** 2 ? bar : metadata.x.match('a')) > baz"),
        [
            "include: the method `include` is not available in conditions",
            "foo: `foo` is not defined",
            "1 ** 2: the operator `**` is not available in conditions",
            "bar: `bar` is not defined",
            "match: the method `match` is not available in conditions",
            "baz: `baz` is not defined",
        ]
    );
    assert_eq!(
        faults("tags.some(tag => tag.include('x') && foo) && tag"),
        [
            "include: the method `include` is not available in conditions",
            "foo: `foo` is not defined",
            "tag: `tag` is not defined",
        ]
    );
}

fn values() -> [Json; 3] {
    [
        json!(["api", "security", "café 😀"]),
        json!({"dealSize": 60000, "owner": {"name": "Ada", "team": null}, "labels": ["x", "y"], "empty": "", "ratio": 0.1,
               "10": "ten", "2": "two", "levels": {"low": 1, "high": 3}, "priority": "high"}),
        json!([{"gate": "implement", "outcome": "complete", "duration": 600},
               {"gate": "review", "outcome": "needs_review", "duration": 30},
               {"gate": "review", "outcome": "complete", "duration": 90}]),
    ]
}

/// Evaluates over `values()`; an error becomes its message and the text that it points at.
fn evaluate(source: &str) -> Result<bool, (String, String)> {
    let [tags, metadata, history] = values();
    compile(source)
        .evaluate(&[("tags", &tags), ("metadata", &metadata), ("gateHistory", &history)])
        .map_err(|error| (error.message, source[error.range].to_owned()))
}

#[test]
fn typical_conditions() {
    for (source, expected) in [
        ("tags.includes('security') || tags.includes('auth')", true),
        ("!tags.includes('skip-qa')", true),
        ("metadata.dealSize > 50000", true),
        ("metadata.dealSize > 50000 && metadata.region === 'eu'", false),
        ("gateHistory.some(v => v.gate === 'review' && v.outcome === 'complete')", true),
        ("gateHistory.filter(v => v.outcome === 'needs_review').length >= 2", false),
        ("gateHistory.every(visit => visit.outcome !== 'blocked')", true),
        ("gateHistory[gateHistory.length - 1]?.outcome === 'complete'", true),
        ("gateHistory.map(v => v.duration).every(d => d <= 600)", true),
        ("metadata.levels[metadata.priority] > 2", true),
        ("(metadata.missing ?? 0) + 3 >= 3", true),
        ("['a', 'b', tags[0]].length === 3", true),
        ("metadata.owner.name + ':' + tags.length === 'Ada:3'", true),
        ("metadata.missing === undefined", true),
        ("tags.filter(tag => tag.startsWith('caf'))[0].length === 7", true),
        ("tags", true),
        ("metadata.missing", false),
        ("metadata.empty", false),
        ("metadata.owner.team", false),
        ("tags.some((tag, index, all) => index === all.length - 1 && tag.endsWith('😀'))", true),
        ("tags.some(tags => tags === 'api')", true),
        ("gateHistory.some(a => gateHistory.some(b => a !== b && a.gate === b.gate))", true),
    ] {
        assert_eq!(evaluate(source), Ok(expected), "{source}");
    }
}

#[test]
fn the_semantics_are_javascripts() {
    for source in [
        "0.1 + 0.2 === 0.30000000000000004",
        "'' + 1e21 === '1e+21' && '' + 123456789012345680000 === '123456789012345680000'",
        "'' + 1e-7 === '1e-7' && '' + 0.000001 === '0.000001'",
        "'' + -0 === '0' && 1 / -0 === -1e999 && '' + 5e-324 === '5e-324'",
        "'' + 1.7976931348623157e308 === '1.7976931348623157e+308'",
        "0 / 0 !== 0 / 0 && [0 / 0].includes(0 / 0) && [0 / 0].indexOf(0 / 0) === -1",
        "null == undefined && null !== undefined && null != 0",
        "'1' == 1 && true == '1' && '' == 0",
        "'10' < '9' && '10' > 9 && !('a' < 1) && !('a' >= 1) && null >= 0",
        "'\\u{1f600}' < '\\uffff'",
        "1 + '2' === '12' && '3' - 1 === 2 && 1 + null === 1",
        "-7 % 3 === -1 && 1 / (-4 % 2) === -1e999 && 5 % 0 !== 5 % 0",
        "+'' === 0 && +' 0x1F ' === 31 && +'1_0' !== +'1_0' && +'\\ufeff 1 \\u00a0' === 1",
        "+'inf' !== +'inf' && +'-Infinity' === -1e999 && +'-0x1' !== +'-0x1'",
        "+'9007199254740993' === 9007199254740992 && +'0x20000000000003' === 9007199254740996",
        "'😀'.length === 2 && 'a😀b'.indexOf('b') === 3 && 'abc'.indexOf('') === 0",
        "'ΑΣ'.toLowerCase() === 'ας' && 'İ'.toLowerCase().length === 2",
        "'1,null'.includes(1) && '1,null'.endsWith(null) && 'undefined'.startsWith(undefined)",
        "[] !== [] && tags === tags && metadata.levels === metadata.levels && tags == tags",
        "undefined?.a.b.c === undefined && null?.[0] === undefined && null?.includes(1) === undefined",
        "metadata.owner?.name === 'Ada' && metadata.nobody?.name.length === undefined",
        "(0 || null) ?? true",
        "[0, '', null, undefined, 0 / 0, false].every(value => !value)",
        "[[], metadata, '0', -1].every(value => value)",
    ] {
        assert_eq!(evaluate(source), Ok(true), "{source}");
    }
}

#[test]
fn run_time_errors_name_the_fault_and_its_place() {
    for (source, message, place) in [
        ("metadata.foo.bar.baz", "Cannot read property 'bar' of undefined", "bar"),
        ("metadata.owner.team.size", "Cannot read property 'size' of null", "size"),
        ("metadata.foo['a' + 1]", "Cannot read property 'a1' of undefined", "'a' + 1"),
        ("metadata.foo.includes('x')", "Cannot read property 'includes' of undefined", "includes"),
        ("(metadata?.foo).bar", "Cannot read property 'bar' of undefined", "bar"),
        ("[undefined].some(v => v.gate)", "Cannot read property 'gate' of undefined", "gate"),
        ("tags.some(tag => tag.owner.name)", "Cannot read property 'name' of undefined", "name"),
        ("metadata.dealSize.includes(6)", "`includes` is not a function of a number", "includes"),
        ("metadata.includes('x')", "`includes` is not a function of an object", "includes"),
        ("tags.startsWith('a')", "`startsWith` is not a function of an array", "startsWith"),
        ("tags[0].some(x => x)", "`some` is not a function of a string", "some"),
        (
            "tags == 'api'",
            "an array is not data of one value: compare its members",
            "tags == 'api'",
        ),
        ("-metadata", "an object is not data of one value: compare its members", "-metadata"),
        (
            "tags[0][1] === 'p'",
            "a condition cannot read single characters: use `includes`, `startsWith` or `indexOf`",
            "1",
        ),
    ] {
        assert_eq!(evaluate(source), Err((message.to_owned(), place.to_owned())), "{source}");
    }
}

#[test]
fn nothing_but_own_data_is_reached() {
    for (key, of) in [
        ("'const' + 'ructor'", "metadata"),
        ("'__pro' + 'to__'", "metadata"),
        ("'proto' + 'type'", "metadata"),
        ("['constructor']", "tags"),
        ("'to' + 'String'", "metadata"),
        ("'so' + 'me'", "tags"),
        ("'tr' + 'im'", "tags[0]"),
        ("'to' + 'Fixed'", "metadata.dealSize"),
    ] {
        let (message, _) = evaluate(&format!("{of}[{key}]")).unwrap_err();
        assert!(message.contains("is not data"), "{of}[{key}]: {message}");
    }
    for source in ["metadata.toString", "tags.includes", "tags[0].trim", "metadata.valueOf === 1"] {
        let (message, _) = evaluate(source).unwrap_err();
        assert!(message.contains("is not data"), "{source}: {message}");
    }
    for name in ["constructor", "__proto__", "prototype"] {
        for source in [
            format!("metadata.{name}"),
            format!("metadata['{name}']"),
            format!("metadata?.{name}"),
            format!("tags.{name}.{name}('x')"),
            format!("tags.{name}('x')"),
        ] {
            let fault = fault(&source);
            assert_eq!(
                (fault.kind, &source[fault.range]),
                (FaultKind::Refused, name_in(&source, name)),
                "{source}"
            );
            assert_eq!(fault.message, format!("a condition cannot read `{name}`"));
        }
    }
    let metadata = json!({"toString": 1, "length": 0, "some": "x"});
    let condition =
        compile("metadata.toString === 1 && metadata.length === 0 && metadata.some === 'x'");
    assert_eq!(condition.evaluate(&[("metadata", &metadata)]), Ok(true));
}

fn name_in<'s>(source: &'s str, name: &'s str) -> &'s str {
    if source.contains('\'') && source.contains('[') {
        &source[source.find('[').unwrap() + 1..source.len() - 1]
    } else {
        name
    }
}

#[test]
fn faults_name_the_construct_and_its_place() {
    for (source, message, place) in [
        (
            "tags.some(tag => { return true })",
            "a function in a condition is one expression, not a block",
            "{ return true }",
        ),
        ("tags => tags", "functions are not available in conditions", "tags => tags"),
        ("tags.includes(x => x)", "functions are not available in conditions", "x => x"),
        ("function f() {}", "functions are not available in conditions", "function f() {}"),
        (
            "tags.some(function (x) { return x })",
            "`some` takes one function in a condition",
            "function (x) { return x }",
        ),
        ("tags.some()", "`some` takes one function in a condition", "some"),
        ("tags.some(x => x, 1)", "`some` takes one function in a condition", "1"),
        ("tags.includes('a', 1)", "`includes` takes one value in a condition", "1"),
        ("tags[0].toLowerCase(1)", "`toLowerCase` takes nothing in a condition", "1"),
        (
            "tags.some(async x => x)",
            "asynchronous functions are not available in conditions",
            "async x => x",
        ),
        ("tags.some((...all) => all)", "rest parameters are not available in conditions", "...all"),
        ("tags.some((x = 1) => x)", "default values are not available in conditions", "x = 1"),
        ("tags.some(({x}) => x)", "patterns are not available in conditions", "{x}"),
        ("tags.some(([x]) => x)", "patterns are not available in conditions", "[x]"),
        ("tags.some((x, x) => x)", "the parameter `x` comes twice", "x"),
        ("metadata.x = 1", "assignments are not available in conditions", "metadata.x = 1"),
        ("metadata.x += 1", "assignments are not available in conditions", "metadata.x += 1"),
        ("metadata.x++", "assignments are not available in conditions", "metadata.x++"),
        (
            "delete metadata.x",
            "the operator `delete` is not available in conditions",
            "delete metadata.x",
        ),
        ("typeof tags", "the operator `typeof` is not available in conditions", "typeof tags"),
        ("'a' in metadata", "the operator `in` is not available in conditions", "'a' in metadata"),
        ("void 0", "the operator `void` is not available in conditions", "void 0"),
        ("~1", "the operator `~` is not available in conditions", "~1"),
        ("tags & metadata", "the operator `&` is not available in conditions", "tags & metadata"),
        ("2 ** 3", "the operator `**` is not available in conditions", "2 ** 3"),
        (
            "tags instanceof metadata",
            "the operator `instanceof` is not available in conditions",
            "tags instanceof metadata",
        ),
        ("/a/", "regular expressions are not available in conditions", "/a/"),
        ("`a`", "templates are not available in conditions", "`a`"),
        ("tags`x`", "templates are not available in conditions", "tags`x`"),
        ("({a: 1})", "object literals are not available in conditions", "{a: 1}"),
        ("[...tags]", "spreads are not available in conditions", "...tags"),
        ("tags.includes(...tags)", "spreads are not available in conditions", "...tags"),
        ("[1, , 2]", "gaps in lists are not available in conditions", ","),
        ("1n", "big integers are not available in conditions", "1n"),
        ("(1, 2)", "commas between expressions are not available in conditions", "1, 2"),
        ("new Date()", "new objects are not available in conditions", "new Date()"),
        ("await tags", "`await` and `yield` are not available in conditions", "await tags"),
        ("import('fs')", "imports are not available in conditions", "import('fs')"),
        ("this", "`this`, `super` and `new.target` are not available in conditions", "this"),
        ("class {}", "classes are not available in conditions", "class {}"),
        ("tags.#x", "private members are not available in conditions", "tags.#x"),
        ("'\\ud83d'", "this escape is only half a character", "'\\ud83d'"),
        ("tags.push('x')", "the method `push` is not available in conditions", "push"),
        ("tags.find(x => x)", "the method `find` is not available in conditions", "find"),
        (
            "tags['includes']('x')",
            "a condition can only call methods, by their names",
            "tags['includes']",
        ),
        ("(x => x)(1)", "a condition can only call methods, by their names", "(x => x)"),
        ("Number('1')", "a condition can only call methods, by their names", "Number"),
        (
            "tags.includes?.('x')",
            "a call cannot be optional in a condition",
            "tags.includes?.('x')",
        ),
        ("010", "a number cannot begin with `0`", "010"),
    ] {
        let fault = fault(source);
        assert_eq!(
            (fault.message.as_str(), &source[fault.range.clone()]),
            (message, place),
            "{source}"
        );
        assert_eq!(fault.kind, FaultKind::Refused, "{source}");
    }
}

#[test]
fn unknown_names_are_found_when_compiled() {
    for (source, name) in [
        ("tag.includes('x')", "tag"),
        ("tags.some(x => x) && x", "x"),
        ("globalThis", "globalThis"),
        ("process.env", "process"),
        ("JSON.parse('1')", "JSON"),
        ("Date.now() > 1", "Date"),
        ("Math.max(1, 2)", "Math"),
        ("NaN", "NaN"),
        ("arguments", "arguments"),
    ] {
        let fault = fault(source);
        assert_eq!(
            (fault.kind, &source[fault.range.clone()]),
            (FaultKind::UnknownName, name),
            "{source}"
        );
        assert_eq!(fault.message, format!("`{name}` is not defined"));
    }
    assert_eq!(
        fault("tag").help.unwrap(),
        "a condition can read `tags`, `metadata`, `gateHistory`"
    );
}

#[test]
fn an_invalid_expression_is_a_syntax_fault() {
    for source in [
        "",
        "  ",
        "tags.",
        "tags.includes('x'",
        "if (tags) {}",
        "return tags",
        "tags; metadata",
        "1); while(true){} (1",
        "let x = 1",
        "tags includes 'x'",
        "'open",
        "`open",
        "=> 1",
        "\u{0}",
        "a ?? b || c",
    ] {
        let fault = fault(source);
        assert_eq!(fault.kind, FaultKind::Syntax, "{source}: {fault}");
        assert!(
            fault.range.end <= source.len() && source.get(fault.range.clone()).is_some(),
            "{source}: {fault:?}"
        );
        assert!(fault.help.is_some());
    }
}

#[test]
fn syntax_faults_name_their_place() {
    for (source, message, range) in [
        ("tags includes 'x'", "unexpected `includes`", 5..13),
        ("tags.includes('x') and metadata.y", "unexpected `and`", 19..22),
        ("tags.", "it ends too early", 5..5),
        ("tags; metadata", "unexpected `;`", 4..5),
    ] {
        let fault = fault(source);
        assert_eq!(
            fault.message,
            format!("this is not a JavaScript expression: {message}"),
            "{source}"
        );
        assert_eq!(fault.range, range, "{source}");
    }
}

#[test]
fn sources_of_any_depth_are_safe() {
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("!", "1", ""),
        ("- ", "1", ""),
        ("typeof ", "1", ""),
        ("1?", "1", ":1"),
        ("1?1:", "1", ""),
        ("tags.some(a=>", "1", ")"),
        ("", "tags", ".length"),
        ("", "tags", "?.[0]"),
        ("", "1", "+1"),
        ("", "1", "||1"),
        ("", "tags", ".includes(0)"),
        ("function(){return ", "1", "}"),
        ("class{[", "1", "](){}}"),
        ("new ", "tags", ""),
        ("a=>", "1", ""),
        ("1**", "1", ""),
        ("()=>{", "1", "}"),
        ("()=>{do ", "1", "}"),
        ("1||1&&1|1^1&1==1<1<<1+1*(", "1", ")"),
        ("(a=", "1", ")=>1"),
        ("await ", "1", ""),
        ("a=", "1", ""),
        ("/'/,(", "1", ")"),
        ("async(", "1", ")"),
        ("()=>{a:", "1", "}"),
        ("()=>{if(a)", "1", "}"),
        ("import(", "1", ")"),
    ] {
        for count in [20, 50, 100, 120, 250, 500, 1000, 2500, 100_000] {
            let source = [open.repeat(count).as_str(), middle, &close.repeat(count)].concat();
            if let Ok(condition) = Condition::compile(&source, NAMES) {
                let [tags, metadata, history] = values();
                let scope = [("tags", &tags), ("metadata", &metadata), ("gateHistory", &history)];
                let again = condition.clone();
                drop(condition);
                let _ = again.evaluate(&scope);
            }
        }
    }
    assert_eq!(fault(&"(".repeat(101)).kind, FaultKind::Size);
    assert_eq!(fault(&"!".repeat(501)).kind, FaultKind::Size);
    assert_eq!(fault(&format!("'{}'", "x".repeat(9000))).kind, FaultKind::Size);
    let mut long = "tags.includes('security')".to_owned();
    for index in 0..60 {
        write!(long, " || tags.includes('team-{index}')").unwrap();
    }
    assert_eq!(evaluate(&long), Ok(true));
}

#[test]
fn budgets_stop_growing_values() {
    let tags: Json = (0..10_000).map(|index| format!("tag-{index}")).collect::<Vec<_>>().into();
    let metadata = json!({"long": "x".repeat(5_000_000), "wide": "é😀".repeat(100_000)});
    for source in [
        "tags.some(a => tags.some(b => a === b + 'x'))",
        "tags.every(a => tags.every(b => a != 1))",
        "tags.map(a => tags.map(b => b))",
        "tags.some(a => metadata.long.includes('y'))",
        "tags.some(a => metadata.long === metadata.long + a)",
        "tags.some(a => metadata.wide.length === 1)",
        "tags.some(a => metadata.long > metadata.wide)",
        "tags.some(a => +metadata.long === 1)",
        "tags.some(a => metadata.wide.indexOf(metadata.wide + a) > 0)",
        "metadata.long.toLowerCase()",
    ] {
        let condition = compile(source);
        let error = condition.evaluate(&[("tags", &tags), ("metadata", &metadata)]).unwrap_err();
        let known = ["the condition takes", "the condition builds"];
        assert!(known.iter().any(|known| error.message.contains(known)), "{source}: {error}");
    }
    let history: Json = (0..10_000)
        .map(|index| json!({"gate": "review", "duration": index}))
        .collect::<Vec<_>>()
        .into();
    let condition =
        compile("gateHistory.filter(v => v.gate === 'review' && v.duration > 5000).length > 10");
    assert_eq!(
        condition.evaluate(&[("gateHistory", &history)]),
        Ok(true),
        "an honest condition has room"
    );
}

#[test]
fn a_condition_is_shared_and_outlives_its_source() {
    fn shared<T: Send + Sync + Clone + 'static>(value: T) -> T {
        value
    }
    let condition = shared(compile(&String::from("tags.includes('api')")));
    assert_eq!(condition.source(), "tags.includes('api')");
    let tags = json!(["api"]);
    assert_eq!(condition.clone().evaluate(&[("tags", &tags)]), Ok(true));
    let error = condition.evaluate(&[]).unwrap_err();
    assert_eq!((error.message.as_str(), error.range), ("`tags` has no value here", 0..4));
}
