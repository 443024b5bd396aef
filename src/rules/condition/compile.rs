//! From source to tree: parses, and lets through what is on the list.

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument as ParsedArgument, ArrayExpression, ArrayExpressionElement, ArrowFunctionBody,
    ArrowFunctionExpression, BindingPattern, CallExpression, ChainElement,
    ComputedMemberExpression, Expression, NumericLiteral, StaticMemberExpression, StringLiteral,
};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::operator::{BinaryOperator, UnaryOperator};

use super::expression::{Argument, Arrow, Link, Node, NodeKind};
use super::fault::{self, ConditionFault, FaultKind};
use super::member::is_forbidden;
use super::method::{Method, Takes};

const MAX_BYTES: usize = 8 * 1024;
const MAX_TOKENS: usize = 500;
const MAX_BRACKETS: usize = 100;

/// Compiles `source`, which may read `names`, or returns every fault in it.
pub(crate) fn compile(source: &str, names: &[&str]) -> Result<Node, Vec<ConditionFault>> {
    check_size(source).map_err(|fault| vec![fault])?;
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::mjs()).parse_expression();
    let expression = parsed.map_err(|diagnostics| {
        let first = diagnostics.first();
        let label = first.and_then(|first| first.labels.first());
        let span = label.map(|label| Span::new(label.offset(), label.offset() + label.len()));
        vec![syntax(source, first.map_or("it ends too early", |first| &first.message), span)]
    })?;
    let mut compiler = Compiler { names, parameters: Vec::new(), faults: Vec::new() };
    let root = compiler.expression(&expression);
    compiler.faults.sort_by_key(|fault| fault.range.start);
    root.filter(|_| compiler.faults.is_empty()).ok_or(compiler.faults)
}

/// Refuses what is so long or so nested that the parser or the evaluator, being recursive, could run out of stack.
///
/// Every level of nesting takes a word or an operator character, and a level of the costly kind an opening bracket. Their numbers
/// bound the depth, and counting them needs no lexer.
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

/// Says where the source stops being an expression, in the parser's words.
fn syntax(source: &str, words: &str, span: Option<Span>) -> ConditionFault {
    let span = span.unwrap_or_else(|| whole(source));
    if source.trim().is_empty() {
        let help = "write an expression, or leave `when` out to enter the gate always";
        return ConditionFault::new(FaultKind::Syntax, span, "the condition is empty", help);
    }
    let found = source.get(span.start as usize..span.end as usize).unwrap_or_default();
    let words = match words.trim_end_matches('.') {
        "Unexpected token" if found.is_empty() => "it ends too early".to_owned(),
        "Unexpected token" => format!("unexpected `{found}`"),
        words => words[..1].to_ascii_lowercase() + &words[1..],
    };
    ConditionFault::new(
        FaultKind::Syntax,
        span,
        format!("this is not a JavaScript expression: {words}"),
        "write one expression, such as `tags.includes('api')`, without statements or `;`",
    )
}

fn whole(source: &str) -> Span {
    Span::new(0, u32::try_from(source.len()).unwrap_or(u32::MAX))
}

/// Compiles expressions; what is refused is added to `faults` and gives no node.
struct Compiler<'n> {
    names: &'n [&'n str],
    /// The names of the parameters in force, outermost first; a position here is a local's.
    parameters: Vec<String>,
    faults: Vec<ConditionFault>,
}

impl Compiler<'_> {
    fn refuse<T>(&mut self, fault: ConditionFault) -> Option<T> {
        self.faults.push(fault);
        None
    }

    fn expression(&mut self, expression: &Expression<'_>) -> Option<Node> {
        let span = expression.span();
        let kind = match expression {
            Expression::ParenthesizedExpression(inner) => {
                return self.expression(&inner.expression);
            }
            Expression::BooleanLiteral(literal) => NodeKind::Bool(literal.value),
            Expression::NullLiteral(_) => NodeKind::Null,
            Expression::NumericLiteral(literal) => self.number(literal)?,
            Expression::StringLiteral(literal) => self.text(literal)?,
            Expression::ArrayExpression(list) => self.list(list)?,
            Expression::Identifier(identifier) => self.name(&identifier.name, span)?,
            Expression::StaticMemberExpression(member) => return self.member(member),
            Expression::ComputedMemberExpression(member) => return self.index(member),
            Expression::CallExpression(call) => return self.call(call),
            Expression::ChainExpression(chain) => {
                NodeKind::Chain(Box::new(match &chain.expression {
                    ChainElement::CallExpression(call) => self.call(call)?,
                    ChainElement::StaticMemberExpression(member) => self.member(member)?,
                    ChainElement::ComputedMemberExpression(member) => self.index(member)?,
                    other => {
                        return self.refuse(fault::unavailable(other.span(), "private members"));
                    }
                }))
            }
            Expression::UnaryExpression(unary) => {
                use UnaryOperator::{LogicalNot, UnaryNegation, UnaryPlus};
                if !matches!(unary.operator, LogicalNot | UnaryNegation | UnaryPlus) {
                    return self.refuse(fault::operator(unary.operator.as_str(), span));
                }
                NodeKind::Unary(unary.operator, self.boxed(&unary.argument)?)
            }
            Expression::LogicalExpression(logical) => {
                let (left, right) = (self.boxed(&logical.left), self.boxed(&logical.right));
                NodeKind::Logical(logical.operator, left?, right?)
            }
            Expression::BinaryExpression(binary) => {
                if !is_available(binary.operator) {
                    return self.refuse(fault::operator(binary.operator.as_str(), span));
                }
                let (left, right) = (self.boxed(&binary.left), self.boxed(&binary.right));
                NodeKind::Binary(binary.operator, left?, right?)
            }
            Expression::ConditionalExpression(conditional) => {
                let test = self.boxed(&conditional.test);
                let yes = self.boxed(&conditional.consequent);
                let no = self.boxed(&conditional.alternate);
                NodeKind::Conditional(test?, yes?, no?)
            }
            refused => return self.refuse(fault::construct(refused)),
        };
        Some(Node { kind, span })
    }

    fn boxed(&mut self, expression: &Expression<'_>) -> Option<Box<Node>> {
        self.expression(expression).map(Box::new)
    }

    fn link(&mut self, object: &Expression<'_>, optional: bool) -> Option<Link> {
        Some(Link { object: self.boxed(object)?, optional })
    }

    fn member(&mut self, member: &StaticMemberExpression<'_>) -> Option<Node> {
        let name = &member.property;
        self.check_member(&name.name, name.span);
        let link = self.link(&member.object, member.optional)?;
        Some(Node { kind: NodeKind::Member(link, name.name.as_str().into()), span: name.span })
    }

    fn index(&mut self, member: &ComputedMemberExpression<'_>) -> Option<Node> {
        let key = &member.expression;
        if let Expression::StringLiteral(literal) = key {
            self.check_member(&literal.value, literal.span);
        }
        let (link, index) = (self.link(&member.object, member.optional), self.boxed(key));
        Some(Node { kind: NodeKind::Index(link?, index?), span: key.span() })
    }

    fn number(&mut self, literal: &NumericLiteral<'_>) -> Option<NodeKind> {
        let raw = literal.raw.as_ref().map_or("", |raw| raw.as_str());
        if raw.len() > 1 && raw.starts_with('0') && raw.as_bytes()[1].is_ascii_digit() {
            return self.refuse(ConditionFault::refused(
                literal.span,
                "a number cannot begin with `0`",
                "leave the leading zero out",
            ));
        }
        Some(NodeKind::Number(literal.value))
    }

    fn text(&mut self, literal: &StringLiteral<'_>) -> Option<NodeKind> {
        if literal.lone_surrogates {
            return self.refuse(ConditionFault::refused(
                literal.span,
                "this escape is only half a character",
                "write the character itself",
            ));
        }
        Some(NodeKind::Text(literal.value.as_str().into()))
    }

    fn list(&mut self, list: &ArrayExpression<'_>) -> Option<NodeKind> {
        let items: Vec<_> = list
            .elements
            .iter()
            .map(|element| match element {
                ArrayExpressionElement::SpreadElement(spread) => {
                    self.refuse(fault::unavailable(spread.span, "spreads"))
                }
                ArrayExpressionElement::Elision(gap) => {
                    self.refuse(fault::unavailable(gap.span, "gaps in lists"))
                }
                element => self.expression(element.to_expression()),
            })
            .collect();
        items.into_iter().collect::<Option<_>>().map(NodeKind::List)
    }

    fn name(&mut self, name: &str, span: Span) -> Option<NodeKind> {
        if let Some(slot) = self.parameters.iter().rposition(|known| known == name) {
            return Some(NodeKind::Local(slot));
        }
        if self.names.contains(&name) {
            return Some(NodeKind::Name(name.into()));
        }
        if name == "undefined" {
            return Some(NodeKind::Undefined);
        }
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        self.refuse(ConditionFault::new(
            FaultKind::UnknownName,
            span,
            format!("`{name}` is not defined"),
            format!("a condition can read {}", names.join(", ")),
        ))
    }

    /// Refuses the members that lead from data to functions and prototypes.
    fn check_member(&mut self, name: &str, span: Span) {
        if is_forbidden(name) {
            self.faults.push(ConditionFault::refused(
                span,
                format!("a condition cannot read `{name}`"),
                "it reads data only; choose another name for the value",
            ));
        }
    }

    fn call(&mut self, call: &CallExpression<'_>) -> Option<Node> {
        if call.optional {
            return self.refuse(ConditionFault::refused(
                call.span,
                "a call cannot be optional in a condition",
                "make the member optional, as in `metadata.labels?.includes('api')`",
            ));
        }
        let member = match &call.callee {
            Expression::StaticMemberExpression(member) => member,
            callee => {
                return self.refuse(ConditionFault::refused(
                    callee.span(),
                    "a condition can only call methods, by their names",
                    "for example `tags.includes('api')`",
                ));
            }
        };
        let name = &member.property;
        self.check_member(&name.name, name.span);
        let link = self.link(&member.object, member.optional);
        let Some(method) = Method::from_name(&name.name) else {
            if !is_forbidden(&name.name) {
                self.faults.push(fault::method(&name.name, name.span));
            }
            return None;
        };
        let argument = self.argument(method, &call.arguments, name.span)?;
        Some(Node { kind: NodeKind::Call(link?, method, argument), span: name.span })
    }

    fn argument(
        &mut self,
        method: Method,
        arguments: &[ParsedArgument<'_>],
        name: Span,
    ) -> Option<Argument> {
        let takes = method.takes();
        let spread = arguments.iter().find(|argument| argument.as_expression().is_none());
        if let Some(spread) = spread {
            return self.refuse(fault::unavailable(spread.span(), "spreads"));
        }
        let mut values = arguments.iter().filter_map(|argument| argument.as_expression());
        let (first, second) = (values.next(), values.next());
        match (takes, first) {
            (Takes::Function, Some(first)) if second.is_none() => {
                if let Expression::ArrowFunctionExpression(arrow) = first.without_parentheses() {
                    return self.arrow(arrow).map(|arrow| Argument::Arrow(Box::new(arrow)));
                }
            }
            (Takes::Value, Some(first)) if second.is_none() => {
                return self.boxed(first).map(Argument::Value);
            }
            (Takes::Nothing, None) => return Some(Argument::None),
            _ => {}
        }
        let wrong = match takes {
            Takes::Nothing => first,
            _ => second.or(first),
        };
        let method = method.name();
        let (takes, example) = match takes {
            Takes::Nothing => ("nothing", format!("{method}()")),
            Takes::Value => ("one value", format!("{method}('api')")),
            Takes::Function => ("one function", format!("{method}(x => x === 'api')")),
        };
        self.refuse(ConditionFault::refused(
            wrong.map_or(name, GetSpan::span),
            format!("`{method}` takes {takes} in a condition"),
            format!("for example `{example}`"),
        ))
    }

    fn arrow(&mut self, arrow: &ArrowFunctionExpression<'_>) -> Option<Arrow> {
        if arrow.r#async {
            return self.refuse(fault::unavailable(arrow.span, "asynchronous functions"));
        }
        if let ArrowFunctionBody::FunctionBody(block) = &arrow.body {
            return self.refuse(ConditionFault::refused(
                block.span,
                "a function in a condition is one expression, not a block",
                "leave out the braces and `return`, as in `tag => tag === 'api'`",
            ));
        }
        let base = self.parameters.len();
        let is_plain = self.parameters(arrow, base);
        let body = self.expression(arrow.body.to_expression());
        let parameters = self.parameters.len() - base;
        self.parameters.truncate(base);
        is_plain?;
        Some(Arrow { base, parameters, body: body? })
    }

    fn parameters(&mut self, arrow: &ArrowFunctionExpression<'_>, base: usize) -> Option<()> {
        if let Some(rest) = &arrow.params.rest {
            return self.refuse(fault::unavailable(rest.span, "rest parameters"));
        }
        for parameter in &arrow.params.items {
            let BindingPattern::BindingIdentifier(identifier) = &parameter.pattern else {
                return self.refuse(fault::unavailable(parameter.span, "patterns"));
            };
            if parameter.initializer.is_some() {
                return self.refuse(fault::unavailable(parameter.span, "default values"));
            }
            let name = identifier.name.as_str();
            if self.parameters[base..].iter().any(|known| known == name) {
                return self.refuse(ConditionFault::refused(
                    identifier.span,
                    format!("the parameter `{name}` comes twice"),
                    "give each parameter a name of its own",
                ));
            }
            self.parameters.push(name.to_owned());
        }
        Some(())
    }
}

fn is_available(operator: BinaryOperator) -> bool {
    matches!(
        operator,
        BinaryOperator::StrictEquality
            | BinaryOperator::StrictInequality
            | BinaryOperator::Equality
            | BinaryOperator::Inequality
            | BinaryOperator::LessThan
            | BinaryOperator::LessEqualThan
            | BinaryOperator::GreaterThan
            | BinaryOperator::GreaterEqualThan
            | BinaryOperator::Addition
            | BinaryOperator::Subtraction
            | BinaryOperator::Multiplication
            | BinaryOperator::Division
            | BinaryOperator::Remainder
    )
}
