//! Evaluates the tree: a plain walk that pays for every step.

use std::cmp::Ordering;

use oxc_syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};
use serde_json::Value as Json;

use super::budget::{Budget, Outcome, Raised};
use super::expression::{Argument, Arrow, Link, Node, NodeKind};
use super::method::Method;
use super::number::to_f64;
use super::value::{List, Value};
use super::{ConditionError, member};

/// Evaluates `root` over the values in `scope`.
pub(crate) fn evaluate<'a>(
    root: &'a Node,
    scope: &'a [(&'a str, &'a Json)],
) -> Result<Value<'a>, ConditionError> {
    let mut evaluator = Evaluator { scope, locals: Vec::new(), budget: Budget::new() };
    evaluator.value(root).map_err(|raised| raised.into_error(root.span))
}

struct Evaluator<'a> {
    scope: &'a [(&'a str, &'a Json)],
    locals: Vec<Value<'a>>,
    budget: Budget,
}

impl<'a> Evaluator<'a> {
    fn value(&mut self, node: &'a Node) -> Outcome<Value<'a>> {
        let value = self.link(node)?;
        Ok(value.unwrap_or(Value::Undefined))
    }

    /// Evaluates one link of a chain; `None` is the short circuit of a `?.` in it.
    fn link(&mut self, node: &'a Node) -> Outcome<Option<Value<'a>>> {
        let budget = &mut self.budget;
        budget.step().and_then(|()| self.kind(node)).map_err(|raised| raised.at(node.span))
    }

    fn kind(&mut self, node: &'a Node) -> Outcome<Option<Value<'a>>> {
        Ok(Some(match &node.kind {
            NodeKind::Undefined => Value::Undefined,
            NodeKind::Null => Value::Null,
            NodeKind::Bool(truth) => Value::Bool(*truth),
            NodeKind::Number(number) => Value::Number(*number),
            NodeKind::Text(text) => Value::text(text),
            NodeKind::List(nodes) => {
                let mut items = self.room(nodes.len())?;
                for node in nodes {
                    items.push(self.value(node)?);
                }
                Value::list(items)
            }
            NodeKind::Name(name) => match self.scope.iter().find(|(known, _)| *known == &**name) {
                Some((_, json)) => Value::from_json(json),
                None => return Err(Raised::new(format!("`{name}` has no value here"))),
            },
            NodeKind::Local(slot) => self.locals[*slot].clone(),
            NodeKind::Member(link, name) => {
                let Some(object) = self.object(link)? else { return Ok(None) };
                member::get(&object, name, &mut self.budget)?
            }
            NodeKind::Index(link, key) => {
                let Some(object) = self.object(link)? else { return Ok(None) };
                let key = self.value(key)?.to_text(&mut self.budget)?;
                member::get(&object, &key, &mut self.budget)?
            }
            NodeKind::Call(link, method, argument) => {
                let Some(object) = self.object(link)? else { return Ok(None) };
                self.call(&object, *method, argument)?
            }
            NodeKind::Chain(inner) => self.value(inner)?,
            NodeKind::Unary(operator, operand) => {
                let value = self.value(operand)?;
                match operator {
                    UnaryOperator::LogicalNot => Value::Bool(!value.is_truthy()),
                    UnaryOperator::UnaryNegation => {
                        Value::Number(-value.to_number(&mut self.budget)?)
                    }
                    _ => Value::Number(value.to_number(&mut self.budget)?),
                }
            }
            NodeKind::Logical(operator, left, right) => {
                let left = self.value(left)?;
                let is_decided = match operator {
                    LogicalOperator::And => !left.is_truthy(),
                    LogicalOperator::Or => left.is_truthy(),
                    LogicalOperator::Coalesce => !left.is_nullish(),
                };
                if is_decided { left } else { self.value(right)? }
            }
            NodeKind::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.binary(*operator, &left, &right)?
            }
            NodeKind::Conditional(test, yes, no) => {
                let is_true = self.value(test)?.is_truthy();
                self.value(if is_true { yes } else { no })?
            }
        }))
    }

    fn object(&mut self, link: &'a Link) -> Outcome<Option<Value<'a>>> {
        let object = self.link(&link.object)?;
        Ok(object.filter(|object| !link.optional || !object.is_nullish()))
    }

    fn call(
        &mut self,
        receiver: &Value<'a>,
        method: Method,
        argument: &'a Argument,
    ) -> Outcome<Value<'a>> {
        if receiver.is_nullish() {
            return Err(member::unreadable(method.name(), receiver));
        }
        let argument = match argument {
            Argument::None => Value::Undefined,
            Argument::Value(node) => self.value(node)?,
            Argument::Arrow(arrow) => {
                return match receiver {
                    Value::List(list) => self.each(method, list, arrow),
                    _ => Err(method.not_a_function_of(receiver)),
                };
            }
        };
        method.call(receiver, &argument, &mut self.budget)
    }

    /// Calls a method of a list that takes a function.
    fn each(&mut self, method: Method, list: &List<'a>, arrow: &'a Arrow) -> Outcome<Value<'a>> {
        let mut kept = Vec::new();
        for (index, item) in list.iter().enumerate() {
            self.budget.step()?;
            let value = self.apply(
                arrow,
                [item.clone(), Value::Number(to_f64(index)), Value::List(list.clone())],
            )?;
            match method {
                Method::Some if value.is_truthy() => return Ok(Value::Bool(true)),
                Method::Every if !value.is_truthy() => return Ok(Value::Bool(false)),
                Method::Map => {
                    self.room(1)?;
                    kept.push(value);
                }
                Method::Filter if value.is_truthy() => {
                    self.room(1)?;
                    kept.push(item);
                }
                _ => {}
            }
        }
        Ok(match method {
            Method::Some => Value::Bool(false),
            Method::Every => Value::Bool(true),
            _ => Value::list(kept),
        })
    }

    fn apply(&mut self, arrow: &'a Arrow, arguments: [Value<'a>; 3]) -> Outcome<Value<'a>> {
        self.locals.truncate(arrow.base);
        self.locals.extend(arguments.into_iter().take(arrow.parameters));
        self.locals.resize(arrow.base + arrow.parameters, Value::Undefined);
        let value = self.value(&arrow.body)?;
        self.locals.truncate(arrow.base);
        Ok(value)
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Outcome<Value<'a>> {
        let budget = &mut self.budget;
        let is_true = match operator {
            BinaryOperator::StrictEquality => left.strictly_equals(right, budget)?,
            BinaryOperator::StrictInequality => !left.strictly_equals(right, budget)?,
            BinaryOperator::Equality => left.loosely_equals(right, budget)?,
            BinaryOperator::Inequality => !left.loosely_equals(right, budget)?,
            BinaryOperator::LessThan => left.order(right, budget)?.is_some_and(Ordering::is_lt),
            BinaryOperator::LessEqualThan => {
                left.order(right, budget)?.is_some_and(Ordering::is_le)
            }
            BinaryOperator::GreaterThan => left.order(right, budget)?.is_some_and(Ordering::is_gt),
            BinaryOperator::GreaterEqualThan => {
                left.order(right, budget)?.is_some_and(Ordering::is_ge)
            }
            BinaryOperator::Addition => return left.add(right, budget),
            _ => {
                let (left, right) = (left.to_number(budget)?, right.to_number(budget)?);
                return Ok(Value::Number(match operator {
                    BinaryOperator::Subtraction => left - right,
                    BinaryOperator::Multiplication => left * right,
                    BinaryOperator::Division => left / right,
                    _ => left % right,
                }));
            }
        };
        Ok(Value::Bool(is_true))
    }

    /// Pays for a list of `length` values and makes room for them.
    fn room(&mut self, length: usize) -> Outcome<Vec<Value<'a>>> {
        self.budget.build(length * size_of::<Value<'_>>())?;
        Ok(Vec::with_capacity(length))
    }
}
