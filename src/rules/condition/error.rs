//! What a condition may not contain, said in words, with what to write instead.

use std::ops::Range;

use oxc_ast::ast::Expression;
use oxc_span::{GetSpan, Span};
use oxc_syntax::operator::{BinaryOperator, UnaryOperator};

use super::ast::Place;

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

/// The kinds of faults, for callers that add hints of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It is no JavaScript expression.
    Syntax,
    /// It is too long or too involved.
    Size,
    /// `range` is a name that the scope does not have.
    UnknownName,
    /// It is JavaScript, but more than a condition may do.
    Refused,
}

pub(crate) type Compiled<T> = Result<T, ConditionFault>;

impl ConditionFault {
    pub(crate) fn new(kind: FaultKind, place: Place, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            range: place.start as usize..place.end as usize,
            help: None,
        }
    }

    pub(crate) fn refused(span: Span, message: impl Into<String>) -> Self {
        Self::new(FaultKind::Refused, place(span), message)
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

pub(crate) fn place(span: Span) -> Place {
    Place { start: span.start, end: span.end }
}

/// Refuses a construct that has no place in conditions.
pub(crate) fn construct(expression: &Expression<'_>) -> ConditionFault {
    let (what, help) = match expression {
        Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => (
            "a function can only be the argument of a list's method",
            "for example `tags.some(tag => tag === 'api')`",
        ),
        Expression::AssignmentExpression(_) => {
            ("a condition cannot assign", "to compare, write `===`")
        }
        Expression::UpdateExpression(_) => {
            ("a condition cannot change a value", "to add one, write `x + 1`")
        }
        Expression::RegExpLiteral(_) => (
            "regular expressions are not available in conditions",
            "use `includes`, `startsWith`, `endsWith` or `split`",
        ),
        Expression::BigIntLiteral(_) => {
            ("big integers are not available in conditions", "write it without the `n`")
        }
        Expression::SequenceExpression(_) => (
            "a condition is one expression, without commas between parts",
            "join the parts with `&&` or `||`",
        ),
        Expression::NewExpression(_) => {
            ("a condition cannot create objects with `new`", "compare plain values")
        }
        Expression::AwaitExpression(_) | Expression::YieldExpression(_) => {
            ("a condition cannot wait for anything", "it sees only values that are already there")
        }
        Expression::ImportExpression(_) | Expression::ImportMeta(_) => {
            ("a condition cannot import anything", "it sees only values that are already there")
        }
        Expression::ThisExpression(_) | Expression::Super(_) | Expression::NewTarget(_) => (
            "a condition has no object of its own",
            "name the value that you mean, such as `metadata`",
        ),
        Expression::ClassExpression(_) => {
            ("a condition cannot define classes", "compare plain values")
        }
        Expression::TaggedTemplateExpression(_) => (
            "tagged templates are not available in conditions",
            "write the template without the tag",
        ),
        _ => (
            "this is not available in conditions",
            "use comparisons, `&&`, `||`, `!` and the values' members",
        ),
    };
    ConditionFault::refused(expression.span(), what).help(help)
}

/// Refuses an operator that has no place in conditions.
pub(crate) fn binary(operator: BinaryOperator, span: Span) -> ConditionFault {
    let help = match operator {
        BinaryOperator::BitwiseAnd => "for a logical and, write `&&`",
        BinaryOperator::BitwiseOR => "for a logical or, write `||`",
        BinaryOperator::BitwiseXOR => "for exactly one of two, write `!a !== !b`",
        BinaryOperator::Exponential => "write the product, such as `x * x`",
        BinaryOperator::Instanceof => "use `typeof` or `Array.isArray`",
        _ => "write a multiplication or a division",
    };
    ConditionFault::refused(
        span,
        format!("the operator `{}` is not available in conditions", operator.as_str()),
    )
    .help(help)
}

/// Refuses an operator that has no place in conditions.
pub(crate) fn unary(operator: UnaryOperator, span: Span) -> ConditionFault {
    let help = match operator {
        UnaryOperator::Void => "write `undefined`",
        UnaryOperator::Delete => "a condition changes nothing",
        _ => "for a logical not, write `!`",
    };
    ConditionFault::refused(
        span,
        format!("the operator `{}` is not available in conditions", operator.as_str()),
    )
    .help(help)
}

/// Refuses `value.#name`.
pub(crate) fn private_member(span: Span) -> ConditionFault {
    ConditionFault::refused(span, "private members are not available in conditions")
        .help("leave the `#` out")
}

/// Refuses a method that is not on the list.
pub(crate) fn method(name: &str, span: Span) -> ConditionFault {
    let help = match name {
        "match" | "matchAll" | "test" | "search" | "exec" | "replace" | "replaceAll" => {
            "regular expressions and replacing are left out: use `includes`, `startsWith`, `endsWith` or `split`"
        }
        "push" | "pop" | "shift" | "unshift" | "splice" | "sort" | "reverse" | "fill" => {
            "a condition changes nothing: use `filter`, `map`, `slice` or `concat`"
        }
        "forEach" => "use `some` or `every`, which have an answer",
        "contains" | "has" => "use `includes`, or `Object.hasOwn(object, key)` for keys",
        "hasOwnProperty" => "use `Object.hasOwn(object, key)`",
        "toString" | "toFixed" | "toLocaleString" | "toPrecision" => {
            "use `String(value)` or `Math.round(value)`"
        }
        "localeCompare" | "toLocaleLowerCase" | "toLocaleUpperCase" => {
            "conditions know no locale: compare with `<`, or use `toLowerCase`"
        }
        "keys" | "values" | "entries" => "use `Object.keys`, `Object.values` or `Object.entries`",
        _ => {
            "lists have `includes`, `some`, `every`, `find`, `filter`, `map`, `join` and the like; texts have \
              `includes`, `startsWith`, `endsWith`, `split`, `trim`, `toLowerCase` and the like"
        }
    };
    ConditionFault::refused(span, format!("the method `{name}` is not available in conditions"))
        .help(help)
}
