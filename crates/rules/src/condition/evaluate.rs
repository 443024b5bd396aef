//! Evaluates a checked expression: a plain walk that pays for every step.

use std::cmp::Ordering;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ArrowFunctionExpression, BindingPattern, CallExpression, ChainElement, Expression,
    MemberExpression,
};
use oxc_span::GetSpan;
use oxc_syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};
use serde_json::Value as Json;

use super::ConditionError;
use super::value::{Budget, Evaluated, Raised, Value, ValueList, to_f64};
use super::{parse, whole};

/// Evaluates a checked source over the values in `scope`, and returns the result of `then` for its value.
pub(crate) fn evaluate<T>(
    source: &str,
    scope: &[(&str, &Json)],
    then: impl FnOnce(&Value<'_>) -> T,
) -> Result<T, ConditionError> {
    let allocator = Allocator::default();
    let parsed = parse(&allocator, source);
    let budget = Budget::new();
    let result = match &parsed {
        Ok(root) => Evaluator { scope, locals: Vec::new(), budget: &budget }.value(root),
        Err(fault) => Err(Raised::new(&fault.message)),
    };
    result.map(|value| then(&value)).map_err(|raised| {
        let span = raised.span.unwrap_or_else(|| whole(source));
        ConditionError { message: raised.message, range: span.start as usize..span.end as usize }
    })
}

struct Evaluator<'a> {
    scope: &'a [(&'a str, &'a Json)],
    /// The parameters in force, innermost last.
    locals: Vec<(&'a str, Value<'a>)>,
    budget: &'a Budget,
}

impl<'a> Evaluator<'a> {
    fn value(&mut self, expression: &'a Expression<'a>) -> Evaluated<Value<'a>> {
        let value = self.link(expression)?;
        Ok(value.unwrap_or(Value::Undefined))
    }

    /// Evaluates one link of a chain; `None` is the short circuit of a `?.` in it.
    fn link(&mut self, expression: &'a Expression<'a>) -> Evaluated<Option<Value<'a>>> {
        let value = self.budget.spend(1).and_then(|()| self.kind(expression));
        value.map_err(|raised| raised.at(expression.span()))
    }

    fn kind(&mut self, expression: &'a Expression<'a>) -> Evaluated<Option<Value<'a>>> {
        Ok(Some(match expression {
            Expression::ParenthesizedExpression(inner) => self.value(&inner.expression)?,
            Expression::NullLiteral(_) => Value::Null,
            Expression::BooleanLiteral(literal) => Value::Bool(literal.value),
            Expression::NumericLiteral(literal) => Value::Number(literal.value),
            Expression::StringLiteral(literal) => Value::text(literal.value.as_str()),
            Expression::ArrayExpression(list) => {
                let mut items = self.room(list.elements.len())?;
                for element in &list.elements {
                    items.push(self.value(element.to_expression())?);
                }
                Value::list(items)
            }
            Expression::Identifier(identifier) => self.name(identifier.name.as_str())?,
            Expression::CallExpression(call) => return self.call(call),
            Expression::ChainExpression(chain) => {
                let value = match (&chain.expression, chain.expression.as_member_expression()) {
                    (_, Some(member)) => self.member(member)?,
                    (ChainElement::CallExpression(call), None) => self.call(call)?,
                    _ => return Err(not_checked()),
                };
                value.unwrap_or(Value::Undefined)
            }
            Expression::UnaryExpression(unary) => {
                let value = self.value(&unary.argument)?;
                match unary.operator {
                    UnaryOperator::LogicalNot => Value::Bool(!value.is_truthy()),
                    UnaryOperator::UnaryNegation => Value::Number(-value.to_number(self.budget)?),
                    _ => Value::Number(value.to_number(self.budget)?),
                }
            }
            Expression::LogicalExpression(logical) => {
                let left = self.value(&logical.left)?;
                let is_decided = match logical.operator {
                    LogicalOperator::And => !left.is_truthy(),
                    LogicalOperator::Or => left.is_truthy(),
                    LogicalOperator::Coalesce => !left.is_nullish(),
                };
                if is_decided { left } else { self.value(&logical.right)? }
            }
            Expression::BinaryExpression(binary) => {
                let (left, right) = (self.value(&binary.left)?, self.value(&binary.right)?);
                self.binary(binary.operator, &left, &right)?
            }
            Expression::ConditionalExpression(conditional) => {
                let is_true = self.value(&conditional.test)?.is_truthy();
                let chosen = if is_true { &conditional.consequent } else { &conditional.alternate };
                self.value(chosen)?
            }
            other => {
                return self.member(other.as_member_expression().ok_or_else(not_checked)?);
            }
        }))
    }

    fn name(&self, name: &str) -> Evaluated<Value<'a>> {
        if let Some((_, value)) = self.locals.iter().rev().find(|(known, _)| *known == name) {
            return Ok(value.clone());
        }
        match self.scope.iter().find(|(known, _)| *known == name) {
            Some((_, json)) => Ok(Value::from_json(json)),
            None if name == "undefined" => Ok(Value::Undefined),
            None => Err(Raised::new(format!("`{name}` has no value here"))),
        }
    }

    /// Returns the object of a member; `None` if a `?.` ends the chain.
    fn object(&mut self, of: &'a Expression<'a>, optional: bool) -> Evaluated<Option<Value<'a>>> {
        let object = self.link(of)?;
        Ok(object.filter(|object| !optional || !object.is_nullish()))
    }

    /// Reads a member; an error points at its name.
    fn member(&mut self, member: &'a MemberExpression<'a>) -> Evaluated<Option<Value<'a>>> {
        let object = self.object(member.object(), member.optional());
        let Some(object) = object? else { return Ok(None) };
        let (value, span) = match member {
            MemberExpression::StaticMemberExpression(member) => {
                let name = &member.property;
                (object.member(&name.name, self.budget), name.span)
            }
            MemberExpression::ComputedMemberExpression(member) => {
                let name = self.value(&member.expression)?.to_text(self.budget);
                let value = name.and_then(|name| object.member(&name, self.budget));
                (value, member.expression.span())
            }
            MemberExpression::PrivateFieldExpression(_) => return Err(not_checked()),
        };
        value.map(Some).map_err(|raised| raised.at(span))
    }

    fn call(&mut self, call: &'a CallExpression<'a>) -> Evaluated<Option<Value<'a>>> {
        let Expression::StaticMemberExpression(member) = &call.callee else {
            return Err(not_checked());
        };
        let (method, span) = (member.property.name.as_str(), member.property.span);
        let Some(receiver) = self.object(&member.object, member.optional)? else { return Ok(None) };
        if receiver.is_nullish() {
            return Err(receiver.unreadable(method).at(span));
        }
        let argument = call.arguments.first().and_then(|argument| argument.as_expression());
        let value = match argument.map(Expression::without_parentheses) {
            Some(Expression::ArrowFunctionExpression(arrow)) => match &receiver {
                Value::List(list) => self.each(method, list, arrow),
                _ => Err(receiver.lacks(method)),
            },
            argument => {
                let argument = argument.map_or(Ok(Value::Undefined), |given| self.value(given))?;
                receiver.call(method, &argument, self.budget)
            }
        };
        value.map(Some).map_err(|raised| raised.at(span))
    }

    /// Calls a method of a list that takes a function.
    fn each(
        &mut self,
        method: &str,
        list: &ValueList<'a>,
        arrow: &'a ArrowFunctionExpression<'a>,
    ) -> Evaluated<Value<'a>> {
        let mut kept = Vec::new();
        for (index, item) in list.iter().enumerate() {
            self.budget.spend(1)?;
            let around = self.locals.len();
            let given = [item.clone(), Value::Number(to_f64(index)), Value::List(list.clone())];
            let given = given.into_iter().chain(std::iter::repeat(Value::Undefined));
            for (parameter, value) in arrow.params.items.iter().zip(given) {
                if let BindingPattern::BindingIdentifier(name) = &parameter.pattern {
                    self.locals.push((name.name.as_str(), value));
                }
            }
            let value = self.value(arrow.body.to_expression())?;
            self.locals.truncate(around);
            match method {
                "some" if value.is_truthy() => return Ok(Value::Bool(true)),
                "every" if !value.is_truthy() => return Ok(Value::Bool(false)),
                "map" => {
                    self.room(1)?;
                    kept.push(value);
                }
                "filter" if value.is_truthy() => {
                    self.room(1)?;
                    kept.push(item);
                }
                _ => {}
            }
        }
        Ok(match method {
            "some" => Value::Bool(false),
            "every" => Value::Bool(true),
            _ => Value::list(kept),
        })
    }

    fn binary(
        &self,
        operator: BinaryOperator,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Evaluated<Value<'a>> {
        use BinaryOperator as Op;
        let budget = self.budget;
        let numbers = || Ok((left.to_number(budget)?, right.to_number(budget)?));
        let order = |holds: fn(Ordering) -> bool| {
            Ok(Value::Bool(left.order(right, budget)?.is_some_and(holds)))
        };
        match operator {
            Op::StrictEquality => Ok(Value::Bool(left.strictly_equals(right, budget)?)),
            Op::StrictInequality => Ok(Value::Bool(!left.strictly_equals(right, budget)?)),
            Op::Equality => Ok(Value::Bool(left.loosely_equals(right, budget)?)),
            Op::Inequality => Ok(Value::Bool(!left.loosely_equals(right, budget)?)),
            Op::LessThan => order(Ordering::is_lt),
            Op::LessEqualThan => order(Ordering::is_le),
            Op::GreaterThan => order(Ordering::is_gt),
            Op::GreaterEqualThan => order(Ordering::is_ge),
            Op::Addition => left.add(right, budget),
            Op::Subtraction => numbers().map(|(left, right)| Value::Number(left - right)),
            Op::Multiplication => numbers().map(|(left, right)| Value::Number(left * right)),
            Op::Division => numbers().map(|(left, right)| Value::Number(left / right)),
            _ => numbers().map(|(left, right)| Value::Number(left % right)),
        }
    }

    /// Pays for a list of `length` values and makes room for them.
    fn room(&self, length: usize) -> Evaluated<Vec<Value<'a>>> {
        self.budget.build(length * size_of::<Value<'_>>())?;
        Ok(Vec::with_capacity(length))
    }
}

/// Returns the failure of an expression that the check should have refused.
fn not_checked() -> Raised {
    Raised::new("the condition has an expression that was not checked")
}
