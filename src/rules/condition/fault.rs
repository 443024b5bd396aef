//! What a condition may call and may not contain, with what to write instead.

use std::ops::Range;

use oxc_ast::ast::Expression;
use oxc_span::{GetSpan, Span};

/// What a call of a method brings.
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

/// Returns whether the name leads from the data to what JavaScript keeps behind every value: no condition may read it.
pub(crate) fn is_forbidden(name: &str) -> bool {
    ["constructor", "__proto__", "prototype"].contains(&name)
}

/// Why a source is not a condition.
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
    /// It is no JavaScript expression.
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
