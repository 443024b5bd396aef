//! From source to tree: parses, and lets through what is on the list.

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ChainElement, ComputedMemberExpression, Expression, IdentifierReference, StaticMemberExpression,
};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};

use super::ast::{Binary, Kind, Link, Logical, Node, Place, Unary};
use super::error::{Compiled, ConditionFault, FaultKind, place};
use super::{error, prototype_names};

pub(crate) mod calls;
pub(crate) mod literals;
pub(crate) mod size;

/// Compiles `source`, which may read `names`.
pub(crate) fn compile(source: &str, names: &[&str]) -> Result<Node, Vec<ConditionFault>> {
    size::check(source).map_err(|fault| vec![fault])?;
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::mjs()).parse_expression();
    let expression = parsed.map_err(|diagnostics| {
        let first = diagnostics.first();
        let label = first.and_then(|first| first.labels.first());
        let place =
            label.map(|label| Place { start: label.offset(), end: label.offset() + label.len() });
        vec![syntax(source, first.map_or("it ends too early", |first| &first.message), place)]
    })?;
    let mut compiler = Compiler { names, parameters: Vec::new(), others: Vec::new() };
    compiler.expression(&expression).map_err(|fault| {
        let mut faults = compiler.others;
        faults.push(fault);
        faults.sort_by_key(|fault| fault.range.start);
        faults
    })
}

/// Says where the source stops being an expression, in the parser's words.
fn syntax(source: &str, words: &str, place: Option<Place>) -> ConditionFault {
    let place = place.unwrap_or_else(|| whole(source));
    if source.trim().is_empty() {
        return ConditionFault::new(FaultKind::Syntax, place, "the condition is empty")
            .help("write an expression, or leave `when` out to enter the gate always");
    }
    let found = source.get(place.start as usize..place.end as usize).unwrap_or_default();
    let words = match words.trim_end_matches('.') {
        "Unexpected token" if found.is_empty() => "it ends too early".to_owned(),
        "Unexpected token" => format!("unexpected `{found}`"),
        words => {
            let mut words = words.to_owned();
            if let Some(first) = words.get_mut(..1) {
                first.make_ascii_lowercase();
            }
            words
        }
    };
    ConditionFault::new(
        FaultKind::Syntax,
        place,
        format!("this is not a JavaScript expression: {words}"),
    )
    .help("write one expression, such as `tags.includes('api')`, without statements or `;`")
}

fn whole(source: &str) -> Place {
    Place { start: 0, end: u32::try_from(source.len()).unwrap_or(u32::MAX) }
}

struct Compiler<'n> {
    names: &'n [&'n str],
    /// The names of the parameters that are in force, outermost first; a position here is a local's.
    parameters: Vec<String>,
    /// The faults of operands beside one that has a fault as well: that one is returned.
    others: Vec<ConditionFault>,
}

impl Compiler<'_> {
    fn expression(&mut self, expression: &Expression<'_>) -> Compiled<Node> {
        let span = expression.span();
        let kind = match expression {
            Expression::ParenthesizedExpression(inner) => {
                return self.expression(&inner.expression);
            }
            Expression::BooleanLiteral(literal) => Kind::Bool(literal.value),
            Expression::NullLiteral(_) => Kind::Null,
            Expression::NumericLiteral(literal) => literals::number(literal)?,
            Expression::StringLiteral(literal) => literals::text(literal)?,
            Expression::TemplateLiteral(template) => self.template(template)?,
            Expression::ArrayExpression(list) => self.list(list)?,
            Expression::ObjectExpression(object) => self.record(object)?,
            Expression::Identifier(identifier) => self.identifier(identifier)?,
            Expression::StaticMemberExpression(member) => return self.member(member),
            Expression::ComputedMemberExpression(member) => return self.index(member),
            Expression::CallExpression(call) => return self.call(call),
            Expression::ChainExpression(chain) => {
                Kind::Chain(Box::new(self.chain(&chain.expression)?))
            }
            Expression::UnaryExpression(unary) => {
                let operator = match unary.operator {
                    UnaryOperator::LogicalNot => Unary::Not,
                    UnaryOperator::UnaryPlus => Unary::Plus,
                    UnaryOperator::UnaryNegation => Unary::Minus,
                    UnaryOperator::Typeof => Unary::Typeof,
                    refused => return Err(error::unary(refused, span)),
                };
                Kind::Unary(operator, self.boxed(&unary.argument)?)
            }
            Expression::LogicalExpression(logical) => {
                let operator = match logical.operator {
                    LogicalOperator::And => Logical::And,
                    LogicalOperator::Or => Logical::Or,
                    LogicalOperator::Coalesce => Logical::Coalesce,
                };
                let (left, right) = self.both(&logical.left, &logical.right)?;
                Kind::Logical(operator, left, right)
            }
            Expression::BinaryExpression(binary) => {
                let operator = binary_operator(binary.operator)
                    .ok_or_else(|| error::binary(binary.operator, span))?;
                let (left, right) = self.both(&binary.left, &binary.right)?;
                Kind::Binary(operator, left, right)
            }
            Expression::ConditionalExpression(conditional) => {
                let test = self.boxed(&conditional.test);
                let branches = self.both(&conditional.consequent, &conditional.alternate);
                let (test, (consequent, alternate)) = self.each(test, branches)?;
                Kind::Conditional(test, consequent, alternate)
            }
            Expression::PrivateFieldExpression(member) => {
                return Err(error::private_member(member.span));
            }
            refused => return Err(error::construct(refused)),
        };
        Ok(Node { kind, place: place(span) })
    }

    fn boxed(&mut self, expression: &Expression<'_>) -> Compiled<Box<Node>> {
        self.expression(expression).map(Box::new)
    }

    fn both(
        &mut self,
        left: &Expression<'_>,
        right: &Expression<'_>,
    ) -> Compiled<(Box<Node>, Box<Node>)> {
        let (left, right) = (self.boxed(left), self.boxed(right));
        self.each(left, right)
    }

    /// Returns both, or the first fault; a second one is kept.
    fn each<L, R>(&mut self, left: Compiled<L>, right: Compiled<R>) -> Compiled<(L, R)> {
        match (left, right) {
            (Ok(left), Ok(right)) => Ok((left, right)),
            (Err(fault), Ok(_)) | (Ok(_), Err(fault)) => Err(fault),
            (Err(first), Err(second)) => {
                self.others.push(second);
                Err(first)
            }
        }
    }

    fn chain(&mut self, element: &ChainElement<'_>) -> Compiled<Node> {
        match element {
            ChainElement::CallExpression(call) => self.call(call),
            ChainElement::StaticMemberExpression(member) => self.member(member),
            ChainElement::ComputedMemberExpression(member) => self.index(member),
            other => Err(error::private_member(other.span())),
        }
    }

    fn member(&mut self, member: &StaticMemberExpression<'_>) -> Compiled<Node> {
        let name = &member.property;
        check_member(&name.name, name.span)?;
        if let Expression::Identifier(object) = &member.object
            && !self.is_known(&object.name)
            && is_namespace(&object.name)
        {
            let message = format!("`{}.{}` is not available in conditions", object.name, name.name);
            return Err(ConditionFault::refused(member.span, message).help(calls::functions()));
        }
        let kind = Kind::Member(
            self.boxed(&member.object)?,
            name.name.as_str().into(),
            link(member.optional),
        );
        Ok(Node { kind, place: place(name.span) })
    }

    fn index(&mut self, member: &ComputedMemberExpression<'_>) -> Compiled<Node> {
        let key = &member.expression;
        if let Expression::StringLiteral(literal) = key {
            check_member(&literal.value, literal.span)?;
        }
        let kind =
            Kind::Index(self.boxed(&member.object)?, self.boxed(key)?, link(member.optional));
        Ok(Node { kind, place: place(key.span()) })
    }

    fn identifier(&self, identifier: &IdentifierReference<'_>) -> Compiled<Kind> {
        let name = identifier.name.as_str();
        if let Some(slot) = self.parameters.iter().rposition(|known| known == name) {
            return Ok(Kind::Local(slot));
        }
        if self.names.contains(&name) {
            return Ok(Kind::Name(name.into()));
        }
        Ok(match name {
            "undefined" => Kind::Undefined,
            "NaN" => Kind::Number(f64::NAN),
            "Infinity" => Kind::Number(f64::INFINITY),
            _ if is_namespace(name) || calls::is_function(name) => {
                return Err(ConditionFault::refused(
                    identifier.span,
                    format!("`{name}` is not a value of its own"),
                )
                .help(calls::functions()));
            }
            _ => return Err(self.unknown(name, identifier.span)),
        })
    }

    fn is_known(&self, name: &str) -> bool {
        self.parameters.iter().any(|known| known == name) || self.names.contains(&name)
    }

    fn unknown(&self, name: &str, span: Span) -> ConditionFault {
        let help = match name {
            "Date" | "performance" => {
                "a condition knows no clock, so that it answers the same when it is replayed"
                    .to_owned()
            }
            _ => {
                let names: Vec<String> =
                    self.names.iter().map(|name| format!("`{name}`")).collect();
                format!("a condition can read {}", names.join(", "))
            }
        };
        ConditionFault::new(FaultKind::UnknownName, place(span), format!("`{name}` is not defined"))
            .help(help)
    }
}

/// Refuses the members that lead from data to functions and prototypes.
fn check_member(name: &str, span: Span) -> Compiled<()> {
    if prototype_names::is_forbidden(name) {
        return Err(ConditionFault::refused(span, format!("a condition cannot read `{name}`"))
            .help("it reads data only; choose another name for the value"));
    }
    Ok(())
}

fn is_namespace(name: &str) -> bool {
    matches!(name, "Array" | "Math" | "Number" | "Object")
}

fn link(optional: bool) -> Link {
    if optional { Link::Optional } else { Link::Plain }
}

fn binary_operator(operator: BinaryOperator) -> Option<Binary> {
    Some(match operator {
        BinaryOperator::StrictEquality => Binary::StrictEqual,
        BinaryOperator::StrictInequality => Binary::StrictUnequal,
        BinaryOperator::Equality => Binary::LooseEqual,
        BinaryOperator::Inequality => Binary::LooseUnequal,
        BinaryOperator::LessThan => Binary::Less,
        BinaryOperator::LessEqualThan => Binary::LessOrEqual,
        BinaryOperator::GreaterThan => Binary::Greater,
        BinaryOperator::GreaterEqualThan => Binary::GreaterOrEqual,
        BinaryOperator::Addition => Binary::Add,
        BinaryOperator::Subtraction => Binary::Subtract,
        BinaryOperator::Multiplication => Binary::Multiply,
        BinaryOperator::Division => Binary::Divide,
        BinaryOperator::Remainder => Binary::Remainder,
        BinaryOperator::In => Binary::In,
        _ => return None,
    })
}
