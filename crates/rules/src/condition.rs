//! `when` expressions: a small part of JavaScript's expression language.
//!
//! A JavaScript parser reads the source, an allow-list admits it when the workflow is loaded, and our own evaluator walks the
//! parsed expression. Allowed expressions have the meaning that they have in JavaScript. A budget of steps, not a timer, bounds an
//! evaluation, so the same condition over the same values gives the same answer on every machine, years later.
//!
//! Only this module uses the parser's crates.

#[cfg(test)]
mod differential;
pub(crate) mod evaluate;
pub(crate) mod promise;
pub(crate) mod split;
#[cfg(test)]
mod tests;
pub(crate) mod value;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ArrayExpressionElement, ArrowFunctionBody, ArrowFunctionExpression, BindingPattern,
    CallExpression, ChainElement, Expression, MemberExpression,
};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::operator::{BinaryOperator, UnaryOperator};
use promise::FunctionCall;
use serde_json::Value as Json;

/// A checked `when` expression; cheap to clone.
#[derive(Clone, Debug)]
pub struct Condition {
    source: Arc<str>,
    /// The mark of a stand-in of the prover, which is set when it is evaluated.
    asked: Option<Arc<AtomicBool>>,
}

/// The reason why the evaluation of a condition failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConditionError {
    /// For example `Cannot read property 'bar' of undefined`.
    pub message: String,
    /// The bytes of the source that failed.
    pub range: Range<usize>,
}

impl Condition {
    /// Checks `source`, which may read `names`, or returns every fault in it, in the order of the text.
    pub fn compile(source: &str, names: &[&str]) -> Result<Self, Vec<ConditionFault>> {
        check(source, names)?;
        Ok(Self { source: source.into(), asked: None })
    }

    /// Returns a condition whose answer is given; `None` fails. It sets the mark when it is asked.
    pub(crate) fn stand_in(answer: Option<bool>, asked: Option<Arc<AtomicBool>>) -> Self {
        let source = answer.map_or("undefined.answer", |is| if is { "true" } else { "false" });
        Self { source: source.into(), asked }
    }

    /// Returns the text that was compiled.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the names that the condition reads, each with the member that it reads; `None` for the whole value.
    pub(crate) fn reads(&self) -> Vec<(String, Option<String>)> {
        let allocator = Allocator::default();
        let Ok(root) = parse(&allocator, &self.source) else { return Vec::new() };
        let mut checker = ConditionChecker::new(&[]);
        checker.expression(&root);
        checker.reads
    }

    /// Returns whether the expression's value is truthy over the values in `scope`.
    pub fn evaluate(&self, scope: &[(&str, &Json)]) -> Result<bool, ConditionError> {
        if let Some(asked) = &self.asked {
            asked.store(true, Ordering::Relaxed);
        }
        let is_truthy = |value: &value::Value<'_>| value.is_truthy();
        evaluate::evaluate(&self.source, scope, is_truthy)
    }
}

const MAX_BYTES: usize = 8 * 1024;
const MAX_TOKENS: usize = 500;
const MAX_BRACKETS: usize = 100;

/// Returns every fault in `source`, which may read `names`.
pub(crate) fn check(source: &str, names: &[&str]) -> Result<(), Vec<ConditionFault>> {
    check_calls(source, names, &[]).map(|_| ())
}

/// Returns the calls of these functions, each with an example of its use, or every fault in `source`, which may read `names`.
fn check_calls(
    source: &str,
    names: &[&str],
    functions: &[(&'static str, &str)],
) -> Result<Vec<FunctionCall>, Vec<ConditionFault>> {
    check_size(source).map_err(|fault| vec![fault])?;
    let allocator = Allocator::default();
    let root = parse(&allocator, source).map_err(|fault| vec![fault])?;
    let mut checker = ConditionChecker { functions, ..ConditionChecker::new(names) };
    checker.expression(&root);
    checker.faults.sort_by_key(|fault| fault.range.start);
    if checker.faults.is_empty() { Ok(checker.calls) } else { Err(checker.faults) }
}

/// Refuses a source that is so long or so nested that the parser or the evaluator, being recursive, could run out of stack.
///
/// Every level of nesting takes a word or an operator character, and a costly one an opening bracket. Their numbers bound the
/// depth, and counting them needs no lexer.
fn check_size(source: &str) -> Result<(), ConditionFault> {
    let is_letter = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    let (mut tokens, mut brackets, mut in_word) = (0, 0, false);
    for character in source.chars() {
        let was_in_word = std::mem::replace(&mut in_word, is_letter(character));
        brackets += usize::from(matches!(character, '(' | '[' | '{'));
        let is_free = character.is_whitespace()
            || matches!(character, '.' | ',' | ')' | ']' | '}' | '\'' | '"');
        tokens += usize::from(if in_word { !was_in_word } else { !is_free });
    }
    let bounds = [
        (source.len(), MAX_BYTES, "bytes"),
        (brackets, MAX_BRACKETS, "brackets"),
        (tokens, MAX_TOKENS, "words and operators"),
    ];
    match bounds.into_iter().find(|(count, most, _)| count > most) {
        None => Ok(()),
        Some((count, most, what)) => Err(ConditionFault::new(
            FaultKind::Size,
            whole(source),
            format!("the condition is too long: it has {count} {what}, at most {most} are allowed"),
            "test many names at once, as in `['api', 'docs'].some(tag => tags.includes(tag))`",
        )),
    }
}

/// Parses the source, or reports the place where it stops being an expression, in the parser's words.
pub(crate) fn parse<'a>(
    allocator: &'a Allocator,
    source: &'a str,
) -> Result<Expression<'a>, ConditionFault> {
    let parsed = Parser::new(allocator, source, SourceType::mjs()).parse_expression();
    parsed.map_err(|diagnostics| {
        if source.trim().is_empty() {
            let help = "write an expression, or leave `when` out to enter the gate always";
            let message = "the condition is empty";
            return ConditionFault::new(FaultKind::Syntax, whole(source), message, help);
        }
        let first = diagnostics.first();
        let label = first.and_then(|first| first.labels.first());
        let span = label.map(|label| Span::new(label.offset(), label.offset() + label.len()));
        let span = span.unwrap_or_else(|| whole(source));
        let found = source.get(span.start as usize..span.end as usize).unwrap_or_default();
        let words = match first.map(|first| first.message.trim_end_matches('.')) {
            None => "it ends too early".to_owned(),
            Some("Unexpected token") if found.is_empty() => "it ends too early".to_owned(),
            Some("Unexpected token") => format!("unexpected `{found}`"),
            Some(words) => words[..1].to_ascii_lowercase() + &words[1..],
        };
        ConditionFault::new(
            FaultKind::Syntax,
            span,
            format!("this is not a JavaScript expression: {words}"),
            "write one expression, such as `tags.includes('api')`, without statements or `;`",
        )
    })
}

pub(crate) fn whole(source: &str) -> Span {
    Span::new(0, u32::try_from(source.len()).unwrap_or(u32::MAX))
}

struct ConditionChecker<'n> {
    names: &'n [&'n str],
    functions: &'n [(&'static str, &'n str)],
    /// The calls of these functions.
    calls: Vec<FunctionCall>,
    /// The names of the parameters in force, outermost first.
    parameters: Vec<String>,
    faults: Vec<ConditionFault>,
    /// The names that are read, each with its member.
    reads: Vec<(String, Option<String>)>,
    /// The member that is read of the next name.
    key: Option<String>,
}

impl<'n> ConditionChecker<'n> {
    fn new(names: &'n [&'n str]) -> Self {
        let (parameters, faults, reads) = (Vec::new(), Vec::new(), Vec::new());
        Self { names, functions: &[], calls: Vec::new(), parameters, faults, reads, key: None }
    }
}

impl ConditionChecker<'_> {
    fn refuse(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.faults.push(ConditionFault::new(FaultKind::Refused, span, message, help));
    }

    fn unavailable(&mut self, span: Span, construct: &str) {
        self.faults.push(ConditionFault::unavailable(span, construct));
    }

    fn expression(&mut self, expression: &Expression<'_>) {
        let span = expression.span();
        match expression {
            Expression::ParenthesizedExpression(inner) => self.expression(&inner.expression),
            Expression::BooleanLiteral(_) | Expression::NullLiteral(_) => {}
            Expression::NumericLiteral(literal) => {
                let raw = literal.raw.as_ref().map_or("", |raw| raw.as_str());
                if raw.len() > 1 && raw.starts_with('0') && raw.as_bytes()[1].is_ascii_digit() {
                    let message = "a number cannot begin with `0`";
                    self.refuse(span, message, "leave the leading zero out");
                }
            }
            Expression::StringLiteral(literal) => {
                if literal.lone_surrogates {
                    let message = "this escape is only half a character";
                    self.refuse(span, message, "write the character itself");
                }
            }
            Expression::ArrayExpression(list) => {
                for element in &list.elements {
                    match element {
                        ArrayExpressionElement::SpreadElement(spread) => {
                            self.unavailable(spread.span, "spreads");
                        }
                        ArrayExpressionElement::Elision(gap) => {
                            self.unavailable(gap.span, "gaps in lists");
                        }
                        element => self.expression(element.to_expression()),
                    }
                }
            }
            Expression::Identifier(identifier) => self.name(&identifier.name, span),
            Expression::CallExpression(call) => self.call(call),
            Expression::ChainExpression(chain) => match &chain.expression {
                ChainElement::CallExpression(call) => self.call(call),
                link => link.as_member_expression().into_iter().for_each(|node| self.member(node)),
            },
            Expression::UnaryExpression(unary) => {
                use UnaryOperator::{LogicalNot, UnaryNegation, UnaryPlus};
                if !matches!(unary.operator, LogicalNot | UnaryNegation | UnaryPlus) {
                    self.faults.push(ConditionFault::operator(unary.operator.as_str(), span));
                    return;
                }
                self.expression(&unary.argument);
            }
            Expression::LogicalExpression(logical) => {
                self.expression(&logical.left);
                self.expression(&logical.right);
            }
            Expression::BinaryExpression(binary) => {
                let operator = binary.operator;
                let refused = operator.is_bitwise()
                    || operator.is_relational()
                    || operator == BinaryOperator::Exponential;
                if refused {
                    self.faults.push(ConditionFault::operator(operator.as_str(), span));
                    return;
                }
                self.expression(&binary.left);
                self.expression(&binary.right);
            }
            Expression::ConditionalExpression(conditional) => {
                self.expression(&conditional.test);
                self.expression(&conditional.consequent);
                self.expression(&conditional.alternate);
            }
            other => match other.as_member_expression() {
                Some(member) => self.member(member),
                None => self.faults.push(ConditionFault::construct(other)),
            },
        }
    }

    fn name(&mut self, name: &str, span: Span) {
        self.reads.push((name.to_owned(), self.key.take()));
        let is_known = self.parameters.iter().any(|known| known == name)
            || self.names.contains(&name)
            || name == "undefined";
        if !is_known {
            let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
            let message = format!("`{name}` is not defined");
            let help = format!("a condition can read {}", names.join(", "));
            self.faults.push(ConditionFault::new(FaultKind::UnknownName, span, message, help));
        }
    }

    fn member(&mut self, member: &MemberExpression<'_>) {
        let key = match member {
            MemberExpression::StaticMemberExpression(member) => {
                self.readable(&member.property.name, member.property.span);
                Some(member.property.name.to_string())
            }
            MemberExpression::ComputedMemberExpression(member) => {
                let literal = match &member.expression {
                    Expression::StringLiteral(literal) => Some(literal),
                    _ => None,
                };
                if let Some(literal) = literal {
                    self.readable(&literal.value, literal.span);
                }
                self.expression(&member.expression);
                literal.map(|literal| literal.value.to_string())
            }
            MemberExpression::PrivateFieldExpression(member) => {
                return self.unavailable(member.span, "private members");
            }
        };
        let object = member.object();
        self.key = key.filter(|_| matches!(object, Expression::Identifier(_)));
        self.expression(object);
    }

    /// Refuses the members that lead from data to functions and prototypes.
    fn readable(&mut self, name: &str, span: Span) {
        if is_forbidden(name) {
            let message = format!("a condition cannot read `{name}`");
            self.refuse(span, message, "it reads data only; choose another name for the value");
        }
    }

    fn call(&mut self, call: &CallExpression<'_>) {
        if call.optional {
            let help = "make the member optional, as in `metadata.labels?.includes('api')`";
            return self.refuse(call.span, "a call cannot be optional in a condition", help);
        }
        let Expression::StaticMemberExpression(member) = &call.callee else {
            return self.function(call);
        };
        self.readable(&member.property.name, member.property.span);
        self.expression(&member.object);
        let (name, span) = (member.property.name.as_str(), member.property.span);
        match METHODS.iter().find(|(known, _)| *known == name) {
            Some((_, takes)) => self.arguments(call, name, *takes, span),
            None if is_forbidden(name) => {}
            None => self.faults.push(ConditionFault::method(name, span)),
        }
    }

    /// Records a call of a function, or refuses it.
    fn function(&mut self, call: &CallExpression<'_>) {
        match FunctionCall::read(call, self.functions) {
            Ok(call) => self.calls.push(call),
            Err(fault) => self.faults.push(fault),
        }
    }

    fn arguments(&mut self, call: &CallExpression<'_>, method: &str, takes: Takes, name: Span) {
        let arguments = &call.arguments;
        if let Some(spread) = arguments.iter().find(|argument| argument.is_spread()) {
            return self.unavailable(spread.span(), "spreads");
        }
        let mut values = arguments.iter().filter_map(|argument| argument.as_expression());
        let (first, second) = (values.next(), values.next());
        match (takes, first) {
            (Takes::Function, Some(first)) if second.is_none() => {
                if let Expression::ArrowFunctionExpression(arrow) = first.without_parentheses() {
                    return self.arrow(arrow);
                }
            }
            (Takes::Value, Some(first)) if second.is_none() => return self.expression(first),
            (Takes::Nothing, None) => return,
            _ => {}
        }
        let wrong = if takes == Takes::Nothing { first } else { second.or(first) };
        let (takes, example) = match takes {
            Takes::Nothing => ("nothing", ""),
            Takes::Value => ("one value", "'api'"),
            Takes::Function => ("one function", "x => x === 'api'"),
        };
        self.refuse(
            wrong.map_or(name, GetSpan::span),
            format!("`{method}` takes {takes} in a condition"),
            format!("for example `{method}({example})`"),
        );
    }

    fn arrow(&mut self, arrow: &ArrowFunctionExpression<'_>) {
        if arrow.r#async {
            return self.unavailable(arrow.span, "asynchronous functions");
        }
        if let ArrowFunctionBody::FunctionBody(block) = &arrow.body {
            let message = "a function in a condition is one expression, not a block";
            let help = "leave out the braces and `return`, as in `tag => tag === 'api'`";
            return self.refuse(block.span, message, help);
        }
        let base = self.parameters.len();
        if let Some(rest) = &arrow.params.rest {
            self.unavailable(rest.span, "rest parameters");
        }
        for parameter in &arrow.params.items {
            let BindingPattern::BindingIdentifier(identifier) = &parameter.pattern else {
                self.unavailable(parameter.span, "patterns");
                continue;
            };
            if parameter.initializer.is_some() {
                self.unavailable(parameter.span, "default values");
            }
            let name = identifier.name.to_string();
            if self.parameters[base..].contains(&name) {
                let message = format!("the parameter `{name}` comes twice");
                self.refuse(identifier.span, message, "give each parameter a name of its own");
            }
            self.parameters.push(name);
        }
        self.expression(arrow.body.to_expression());
        self.parameters.truncate(base);
    }
}

/// The argument that a call of a method takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Value,
    Function,
}

/// The methods that conditions may call.
pub(crate) const METHODS: [(&str, Takes); 9] = [
    ("includes", Takes::Value),
    ("some", Takes::Function),
    ("every", Takes::Function),
    ("filter", Takes::Function),
    ("map", Takes::Function),
    ("startsWith", Takes::Value),
    ("endsWith", Takes::Value),
    ("indexOf", Takes::Value),
    ("toLowerCase", Takes::Nothing),
];

/// Returns whether the name leads from the data to the internals of JavaScript values, which no condition may read.
pub(crate) fn is_forbidden(name: &str) -> bool {
    ["constructor", "__proto__", "prototype"].contains(&name)
}

/// The reason why a source is not a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConditionFault {
    pub kind: FaultKind,
    pub message: String,
    /// The bytes of the source that are at fault.
    pub range: Range<usize>,
    pub help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It is not a JavaScript expression.
    Syntax,
    /// It is too long or too nested.
    Size,
    /// `range` is a name that the scope does not have.
    UnknownName,
    /// It is JavaScript, but more than a condition may do.
    Refused,
}

impl ConditionFault {
    pub(crate) fn new(
        kind: FaultKind,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let range = span.start as usize..span.end as usize;
        Self { kind, message: message.into(), range, help: Some(help.into()) }
    }

    /// Refuses a construct, named as in "regular expressions".
    pub(crate) fn unavailable(span: Span, construct: &str) -> Self {
        let help = match construct {
            "assignments" => "to compare, write `===`".to_owned(),
            "functions" => {
                "only `some`, `every`, `filter` and `map` take one, as in `tags.some(tag => tag === 'api')`"
                    .to_owned()
            }
            _ => format!(
                "use comparisons, `&&`, `||`, `!`, `??`, `? :`, `?.`, arithmetic, and the methods {}",
                method_names()
            ),
        };
        Self::not_available(span, construct, "are", help)
    }

    /// Refuses a kind of expression that conditions do not have.
    pub(crate) fn construct(expression: &Expression<'_>) -> Self {
        let name = match expression {
            Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => {
                "functions"
            }
            Expression::AssignmentExpression(_) | Expression::UpdateExpression(_) => "assignments",
            Expression::TemplateLiteral(_) | Expression::TaggedTemplateExpression(_) => "templates",
            Expression::ObjectExpression(_) => "object literals",
            Expression::RegExpLiteral(_) => "regular expressions",
            Expression::BigIntLiteral(_) => "big integers",
            Expression::SequenceExpression(_) => "commas between expressions",
            Expression::NewExpression(_) => "new objects",
            Expression::ClassExpression(_) => "classes",
            Expression::AwaitExpression(_) => "`await` and `yield`",
            Expression::ImportExpression(_) => "imports",
            Expression::ThisExpression(_) => "`this`, `super` and `new.target`",
            _ => "expressions of this kind",
        };
        Self::unavailable(expression.span(), name)
    }

    pub(crate) fn operator(operator: &str, span: Span) -> Self {
        let help = match operator {
            "&" => "for a logical and, write `&&`",
            "|" => "for a logical or, write `||`",
            "~" => "for a logical not, write `!`",
            "in" => "compare the member with `undefined`, as in `metadata.owner !== undefined`",
            "typeof" => "compare the value itself, for example with `undefined` or `null`",
            "void" => "write `undefined`",
            _ => "use comparisons, `&&`, `||`, `!`, `??` and `+ - * / %`",
        };
        Self::not_available(span, &format!("the operator `{operator}`"), "is", help)
    }

    pub(crate) fn method(name: &str, span: Span) -> Self {
        let help = match name {
            "find" => "use `filter(..)[0]`, or `some` to ask whether there is one".to_owned(),
            "at" => "count from the end, as in `gateHistory[gateHistory.length - 1]`".to_owned(),
            _ => format!("the methods of conditions are {}", method_names()),
        };
        Self::not_available(span, &format!("the method `{name}`"), "is", help)
    }

    fn not_available(span: Span, what: &str, verb: &str, help: impl Into<String>) -> Self {
        let message = format!("{what} {verb} not available in conditions");
        Self::new(FaultKind::Refused, span, message, help)
    }
}

fn method_names() -> String {
    METHODS.map(|(name, _)| format!("`{name}`")).join(", ")
}
