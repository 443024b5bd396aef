//! The facts of a task that a condition can tell apart.

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ArrayExpression, ArrowFunctionExpression, BinaryExpression, BindingPattern, CallExpression,
    ChainElement, Expression, MemberExpression,
};
use oxc_syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};
use serde_json::{Value as Json, json};

use super::{Condition, parse};
use aof_domain::Task;

/// A fact of a task on which a condition depends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fact {
    /// The task has the tag.
    Tag(String),
    /// The value of a key of `metadata`, which is compared with these literals.
    Metadata(String, Vec<Json>),
    /// The value of a key of the plan, which is compared with these literals.
    Plan(String, Vec<Json>),
    /// A value that the way of a task decides, which is compared with these literals.
    Way(Vec<Json>),
}

impl Fact {
    /// Returns the value of the task, as a text.
    pub(crate) fn value(&self, task: &Task) -> String {
        match self {
            Self::Tag(tag) => task.tags.contains(tag).to_string(),
            Self::Metadata(key, _) => format!("{:?}", task.metadata.get(key)),
            Self::Plan(key, _) if key == "priority" => task.priority().to_string(),
            Self::Plan(..) => format!("{:?}", task.plan.milestone),
            Self::Way(_) => String::new(),
        }
    }
}

impl Condition {
    /// Returns the facts that decide the condition; `None` if it depends on anything else.
    pub(crate) fn facts(&self) -> Option<Vec<Fact>> {
        let allocator = Allocator::default();
        let root = parse(&allocator, &self.source).ok()?;
        let mut facts = Vec::new();
        truth(&root, &mut facts)?;
        Some(facts)
    }
}

/// Adds the facts that decide whether the expression is truthy.
fn truth(expression: &Expression<'_>, facts: &mut Vec<Fact>) -> Option<()> {
    match expression.without_parentheses() {
        Expression::BooleanLiteral(_) | Expression::NullLiteral(_) => Some(()),
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::LogicalNot => {
            truth(&unary.argument, facts)
        }
        Expression::LogicalExpression(logical) if logical.operator != LogicalOperator::Coalesce => {
            truth(&logical.left, facts)?;
            truth(&logical.right, facts)
        }
        Expression::ConditionalExpression(conditional) => {
            truth(&conditional.test, facts)?;
            truth(&conditional.consequent, facts)?;
            truth(&conditional.alternate, facts)
        }
        Expression::BinaryExpression(binary) => comparison(binary, facts),
        Expression::CallExpression(call) => called(call, facts),
        other => {
            if literal(other).is_none() {
                facts.push(value(other, Vec::new())?);
            }
            Some(())
        }
    }
}

fn comparison(binary: &BinaryExpression<'_>, facts: &mut Vec<Fact>) -> Option<()> {
    use BinaryOperator as Op;
    let equality = matches!(
        binary.operator,
        Op::Equality | Op::Inequality | Op::StrictEquality | Op::StrictInequality
    );
    let order = matches!(
        binary.operator,
        Op::LessThan | Op::LessEqualThan | Op::GreaterThan | Op::GreaterEqualThan
    );
    let (of, with) = match (literal(&binary.left), literal(&binary.right)) {
        (None, Some(with)) => (&binary.left, with),
        (Some(with), None) => (&binary.right, with),
        // Agents differ, or do not.
        _ if equality && is_agent(&binary.left) && is_agent(&binary.right) => return Some(()),
        (Some(_), Some(_)) => return Some(()),
        (None, None) => return None,
    };
    // To compare a list fails, whatever is in it.
    if is_tags(of) || is_named(of, "assignee") {
        return Some(());
    }
    // Texts have no neighbours that could stand for those between them.
    if !(equality || order && with.is_number()) {
        return None;
    }
    facts.push(value(of, vec![with])?);
    Some(())
}

fn called(call: &CallExpression<'_>, facts: &mut Vec<Fact>) -> Option<()> {
    let Expression::StaticMemberExpression(member) = &call.callee else { return None };
    let argument = call.arguments.first()?.as_expression()?.without_parentheses();
    let method = member.property.name.as_str();
    match (member.object.without_parentheses(), method, argument) {
        (object, "includes", Expression::StringLiteral(tag)) if is_tags(object) => {
            facts.push(Fact::Tag(tag.value.to_string()));
        }
        (Expression::ArrayExpression(list), "includes", of) => {
            facts.push(value(of, literals(list)?)?);
        }
        (
            Expression::ArrayExpression(list),
            "some" | "every",
            Expression::ArrowFunctionExpression(arrow),
        ) => {
            let (parameter, body) = function(arrow)?;
            let Expression::CallExpression(inner) = body else { return None };
            let Expression::StaticMemberExpression(member) = &inner.callee else { return None };
            let given = inner.arguments.first()?.as_expression()?;
            let is_asked = is_tags(&member.object) && member.property.name == "includes";
            if !is_asked || !is_named(given, parameter) {
                return None;
            }
            facts.extend(tags(&literals(list)?)?);
        }
        (object, "some", Expression::ArrowFunctionExpression(arrow)) if is_tags(object) => {
            facts.extend(tags(&wanted_tags(arrow)?)?);
        }
        _ => return None,
    }
    Some(())
}

/// Returns the texts that a function compares its tag with.
fn wanted_tags(arrow: &ArrowFunctionExpression<'_>) -> Option<Vec<Json>> {
    let (parameter, body) = function(arrow)?;
    match body {
        Expression::BinaryExpression(binary)
            if binary.operator == BinaryOperator::StrictEquality
                && is_named(&binary.left, parameter) =>
        {
            Some(vec![literal(&binary.right)?])
        }
        Expression::CallExpression(call) => {
            let Expression::StaticMemberExpression(member) = &call.callee else { return None };
            let Expression::ArrayExpression(list) = &member.object else { return None };
            let given = call.arguments.first()?.as_expression()?;
            let is_asked = member.property.name == "includes" && is_named(given, parameter);
            is_asked.then(|| literals(list))?
        }
        _ => None,
    }
}

fn function<'a, 'b>(
    arrow: &'b ArrowFunctionExpression<'a>,
) -> Option<(&'b str, &'b Expression<'a>)> {
    let [parameter] = &arrow.params.items[..] else { return None };
    let BindingPattern::BindingIdentifier(name) = &parameter.pattern else { return None };
    Some((name.name.as_str(), arrow.body.to_expression().without_parentheses()))
}

fn tags(texts: &[Json]) -> Option<Vec<Fact>> {
    texts.iter().map(|text| Some(Fact::Tag(text.as_str()?.to_owned()))).collect()
}

fn is_tags(expression: &Expression<'_>) -> bool {
    is_named(expression, "tags")
}

fn is_named(expression: &Expression<'_>, name: &str) -> bool {
    matches!(expression.without_parentheses(), Expression::Identifier(found) if found.name == name)
}

/// Returns the value of the task that the expression reads.
fn value(expression: &Expression<'_>, with: Vec<Json>) -> Option<Fact> {
    let member = match expression.without_parentheses() {
        // A count is known up to the largest number that it is compared with.
        Expression::Identifier(name) if name.name.starts_with("$count") => {
            return with.iter().all(Json::is_number).then_some(Fact::Way(with));
        }
        Expression::Identifier(name) if name.name.starts_with('$') || name.name == "ended" => {
            return Some(Fact::Way(with));
        }
        Expression::Identifier(name) if ["priority", "milestone"].contains(&name.name.as_str()) => {
            return Some(Fact::Plan(name.name.to_string(), with));
        }
        Expression::ChainExpression(chain) => match &chain.expression {
            ChainElement::CallExpression(_) => return None,
            link => link.as_member_expression()?,
        },
        other => other.as_member_expression()?,
    };
    if !is_named(member.object(), "metadata") {
        return None;
    }
    let key = match member {
        MemberExpression::StaticMemberExpression(member) => member.property.name.to_string(),
        MemberExpression::ComputedMemberExpression(member) => {
            literal(&member.expression)?.as_str()?.to_owned()
        }
        MemberExpression::PrivateFieldExpression(_) => return None,
    };
    Some(Fact::Metadata(key, with))
}

/// Returns whether the expression is the agent of a call of `passedBy` in a promise.
fn is_agent(expression: &Expression<'_>) -> bool {
    matches!(expression.without_parentheses(), Expression::Identifier(name) if name.name.starts_with("$passedBy"))
}

fn literals(list: &ArrayExpression<'_>) -> Option<Vec<Json>> {
    list.elements.iter().map(|element| literal(element.as_expression()?)).collect()
}

/// Returns the value of a literal; `undefined` counts as `null`.
fn literal(expression: &Expression<'_>) -> Option<Json> {
    Some(match expression.without_parentheses() {
        Expression::StringLiteral(text) => json!(text.value.as_str()),
        Expression::NumericLiteral(number) => json!(number.value),
        Expression::BooleanLiteral(truth) => json!(truth.value),
        Expression::NullLiteral(_) => Json::Null,
        Expression::Identifier(name) if name.name == "undefined" => Json::Null,
        _ => return None,
    })
}
