//! Evaluates the tree: a plain walk, every step of it paid for.

use serde_json::Value as Json;

use super::ast::{Arrow, Binary, Item, Kind, Link, Logical, MethodCall, Node, Unary};
use super::budget::{Budget, Outcome, Raised};
use super::text::Text;
use super::value::Value;
use super::{ConditionError, bind, builtins, coerce, iterate, methods, property};

/// Evaluates `root` over the values in `scope`.
pub(crate) fn evaluate<'a>(
    root: &'a Node,
    scope: &'a [(&'a str, &'a Json)],
) -> Result<Value<'a>, ConditionError> {
    let mut evaluator = Evaluator { scope, locals: Vec::new(), budget: Budget::new() };
    evaluator.value(root).map_err(|raised| raised.into_error(root.place))
}

/// One evaluation under way.
pub(crate) struct Evaluator<'a> {
    scope: &'a [(&'a str, &'a Json)],
    locals: Vec<Value<'a>>,
    pub(crate) budget: Budget,
}

impl<'a> Evaluator<'a> {
    fn value(&mut self, node: &'a Node) -> Outcome<Value<'a>> {
        self.budget.step().and_then(|()| self.kind(node)).map_err(|raised| raised.at(node.place))
    }

    fn kind(&mut self, node: &'a Node) -> Outcome<Value<'a>> {
        Ok(match &node.kind {
            Kind::Undefined => Value::Undefined,
            Kind::Null => Value::Null,
            Kind::Bool(truth) => Value::Bool(*truth),
            Kind::Number(number) => Value::Number(*number),
            Kind::Text(text) => Value::text(text),
            Kind::Template(pieces, expressions) => return self.template(pieces, expressions),
            Kind::List(items) => return Value::list(self.items(items)?),
            Kind::Record(entries) => return self.record(entries),
            Kind::Name(name) => return self.name(name),
            Kind::Local(slot) => self.locals[*slot].clone(),
            Kind::Member(..) | Kind::Index(..) | Kind::Method(_) => return self.chain(node),
            Kind::Chain(inner) => return self.chain(inner),
            Kind::Builtin(builtin, arguments) => {
                let arguments = self.items(arguments)?;
                return builtins::call(*builtin, &arguments, &mut self.budget);
            }
            Kind::Unary(operator, operand) => return self.unary(*operator, operand),
            Kind::Logical(operator, left, right) => {
                let left = self.value(left)?;
                let decided = match operator {
                    Logical::And => !coerce::is_truthy(&left),
                    Logical::Or => coerce::is_truthy(&left),
                    Logical::Coalesce => !left.is_nullish(),
                };
                if decided {
                    left
                } else {
                    return self.value(right);
                }
            }
            Kind::Binary(operator, left, right) => {
                let left = self.value(left)?;
                let right = self.value(right)?;
                return self.binary(*operator, &left, &right);
            }
            Kind::Conditional(test, yes, no) => {
                let test = self.value(test)?;
                return self.value(if coerce::is_truthy(&test) { yes } else { no });
            }
        })
    }

    fn name(&self, name: &str) -> Outcome<Value<'a>> {
        match self.scope.iter().find(|(known, _)| *known == name) {
            Some((_, json)) => Ok(Value::from_json(json)),
            None => Err(Raised::new(format!("`{name}` has no value here"))),
        }
    }

    fn template(&mut self, pieces: &'a [Box<str>], expressions: &'a [Node]) -> Outcome<Value<'a>> {
        let mut text = Text::Borrowed(pieces.first().map_or("", |piece| piece));
        for (expression, piece) in expressions.iter().zip(pieces.iter().skip(1)) {
            let value = self.value(expression)?;
            let value = coerce::to_text(&value, &mut self.budget)?;
            text = text
                .concat(&value, &mut self.budget)?
                .concat(&Text::Borrowed(piece), &mut self.budget)?;
        }
        Ok(Value::Text(text))
    }

    fn record(&mut self, entries: &'a [(Box<str>, Node)]) -> Outcome<Value<'a>> {
        let mut values = Vec::with_capacity(entries.len());
        for (key, node) in entries {
            self.budget.build(size_of::<(&str, Value<'_>)>())?;
            values.push((&**key, self.value(node)?));
        }
        Value::object(values)
    }

    /// Evaluates elements or arguments, in order.
    fn items(&mut self, items: &'a [Item]) -> Outcome<Vec<Value<'a>>> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::One(node) => {
                    self.budget.build(size_of::<Value<'_>>())?;
                    values.push(self.value(node)?);
                }
                Item::Spread(node) => {
                    let value = self.value(node)?;
                    values.extend(
                        bind::elements(&value, &mut self.budget)
                            .map_err(|raised| raised.at(node.place))?,
                    );
                }
            }
        }
        Ok(values)
    }

    /// Evaluates a chain of members and calls; a short circuit by `?.` makes all of it undefined.
    fn chain(&mut self, node: &'a Node) -> Outcome<Value<'a>> {
        Ok(self.link(node)?.unwrap_or(Value::Undefined))
    }

    /// Evaluates one link of a chain; `None` is the short circuit.
    fn link(&mut self, node: &'a Node) -> Outcome<Option<Value<'a>>> {
        match &node.kind {
            Kind::Member(object, name, link) => {
                let Some(object) = self.object(object, *link)? else {
                    return Ok(None);
                };
                property::get(&object, name, &mut self.budget)
            }
            Kind::Index(object, key, link) => {
                let Some(object) = self.object(object, *link)? else {
                    return Ok(None);
                };
                let key = self.value(key)?;
                property::get_at(&object, &key, &mut self.budget)
            }
            Kind::Method(call) => {
                let Some(receiver) = self.object(&call.receiver, call.link)? else {
                    return Ok(None);
                };
                self.method(&receiver, call)
            }
            _ => self.value(node),
        }
        .map(Some)
        .map_err(|raised| raised.at(node.place))
    }

    fn object(&mut self, node: &'a Node, link: Link) -> Outcome<Option<Value<'a>>> {
        self.budget.step()?;
        let object = self.link(node)?;
        Ok(object.filter(|object| link == Link::Plain || !object.is_nullish()))
    }

    fn method(&mut self, receiver: &Value<'a>, call: &'a MethodCall) -> Outcome<Value<'a>> {
        if receiver.is_nullish() {
            return Err(property::unreadable(call.method.name(), receiver));
        }
        let arguments = self.items(&call.arguments)?;
        match (&call.arrow, receiver) {
            (None, _) => methods::call(call.method, receiver, &arguments, &mut self.budget),
            (Some(arrow), Value::List(list)) => {
                iterate::call(self, call.method, list, arrow, arguments)
            }
            (Some(_), _) => Err(methods::not_a_function(call.method, receiver)),
        }
    }

    /// Calls `arrow` with `arguments`.
    pub(crate) fn apply<const N: usize>(
        &mut self,
        arrow: &'a Arrow,
        arguments: [Value<'a>; N],
    ) -> Outcome<Value<'a>> {
        self.locals.truncate(arrow.base);
        let mut arguments = arguments.into_iter();
        for pattern in &arrow.parameters {
            let argument = arguments.next().unwrap_or(Value::Undefined);
            bind::bind(pattern, argument, &mut self.locals, &mut self.budget)?;
        }
        let value = self.value(&arrow.body)?;
        self.locals.truncate(arrow.base);
        Ok(value)
    }

    fn unary(&mut self, operator: Unary, operand: &'a Node) -> Outcome<Value<'a>> {
        let value = self.value(operand)?;
        Ok(match operator {
            Unary::Not => Value::Bool(!coerce::is_truthy(&value)),
            Unary::Plus => Value::Number(coerce::to_number(&value, &mut self.budget)?),
            Unary::Minus => Value::Number(-coerce::to_number(&value, &mut self.budget)?),
            Unary::Typeof => Value::text(coerce::type_of(&value)),
        })
    }

    fn binary(
        &mut self,
        operator: Binary,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Outcome<Value<'a>> {
        let budget = &mut self.budget;
        Ok(Value::Bool(match operator {
            Binary::StrictEqual => coerce::strictly_equal(left, right, budget)?,
            Binary::StrictUnequal => !coerce::strictly_equal(left, right, budget)?,
            Binary::LooseEqual => coerce::loosely_equal(left, right, budget)?,
            Binary::LooseUnequal => !coerce::loosely_equal(left, right, budget)?,
            Binary::Less => {
                coerce::order(left, right, budget)?.is_some_and(std::cmp::Ordering::is_lt)
            }
            Binary::LessOrEqual => {
                coerce::order(left, right, budget)?.is_some_and(std::cmp::Ordering::is_le)
            }
            Binary::Greater => {
                coerce::order(left, right, budget)?.is_some_and(std::cmp::Ordering::is_gt)
            }
            Binary::GreaterOrEqual => {
                coerce::order(left, right, budget)?.is_some_and(std::cmp::Ordering::is_ge)
            }
            Binary::In => property::contains(right, left, budget)?,
            Binary::Add => return coerce::add(left, right, budget),
            Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Remainder => {
                let (left, right) =
                    (coerce::to_number(left, budget)?, coerce::to_number(right, budget)?);
                return Ok(Value::Number(coerce::calculate(operator, left, right)));
            }
        }))
    }

    /// Pays for a list of `length` values and makes room for them.
    pub(crate) fn room(&mut self, length: usize) -> Outcome<Vec<Value<'a>>> {
        self.budget.build(length * size_of::<Value<'_>>())?;
        Ok(Vec::with_capacity(length))
    }
}
