//! The methods of lists that take a function.

use super::ast::Arrow;
use super::budget::{Outcome, Raised};
use super::coerce::is_truthy;
use super::evaluate::Evaluator;
use super::lists::position;
use super::methods::{Method, not_a_function};
use super::number::to_f64;
use super::value::{List, Value};

/// Calls `method` of `list` with `arrow`; `rest` are the arguments after it.
pub(crate) fn call<'a>(
    evaluator: &mut Evaluator<'a>,
    method: Method,
    list: &List<'a>,
    arrow: &'a Arrow,
    rest: Vec<Value<'a>>,
) -> Outcome<Value<'a>> {
    let mut visits = Visits { evaluator, list, arrow };
    match method {
        Method::Some => Ok(Value::Bool(visits.first(true)?.is_some())),
        Method::Every => Ok(Value::Bool(visits.first(false)?.is_none())),
        Method::Find => visits.first(true).map(|index| visits.element(index)),
        Method::FindIndex => visits.first(true).map(position),
        Method::FindLast => visits.last().map(|index| visits.element(index)),
        Method::FindLastIndex => visits.last().map(position),
        Method::Filter => visits.filter(),
        Method::Map => visits.map(),
        Method::FlatMap => visits.flat_map(),
        Method::Reduce => visits.reduce(rest),
        _ => Err(not_a_function(method, &Value::List(list.clone()))),
    }
}

/// One run of a function over a list.
struct Visits<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    list: &'e List<'a>,
    arrow: &'a Arrow,
}

impl<'a> Visits<'_, 'a> {
    fn visit(&mut self, index: usize) -> Outcome<Value<'a>> {
        self.evaluator.budget.step()?;
        let arguments = [
            self.element(Some(index)),
            Value::Number(to_f64(index)),
            Value::List(self.list.clone()),
        ];
        self.evaluator.apply(self.arrow, arguments)
    }

    fn element(&self, index: Option<usize>) -> Value<'a> {
        index.and_then(|index| self.list.get(index)).unwrap_or(Value::Undefined)
    }

    /// Returns the first position at which the function's answer is `wanted`.
    fn first(&mut self, wanted: bool) -> Outcome<Option<usize>> {
        for index in 0..self.list.len() {
            if is_truthy(&self.visit(index)?) == wanted {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn last(&mut self) -> Outcome<Option<usize>> {
        for index in (0..self.list.len()).rev() {
            if is_truthy(&self.visit(index)?) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn filter(&mut self) -> Outcome<Value<'a>> {
        let mut kept = Vec::new();
        for index in 0..self.list.len() {
            if is_truthy(&self.visit(index)?) {
                self.evaluator.room(1)?;
                kept.push(self.element(Some(index)));
            }
        }
        Value::list(kept)
    }

    fn map(&mut self) -> Outcome<Value<'a>> {
        let mut mapped = self.evaluator.room(self.list.len())?;
        for index in 0..self.list.len() {
            mapped.push(self.visit(index)?);
        }
        Value::list(mapped)
    }

    fn flat_map(&mut self) -> Outcome<Value<'a>> {
        let mut mapped = Vec::new();
        for index in 0..self.list.len() {
            let value = self.visit(index)?;
            if let Value::List(inner) = &value {
                self.evaluator.room(inner.len())?;
                mapped.extend(inner.iter());
            } else {
                self.evaluator.room(1)?;
                mapped.push(value);
            }
        }
        Value::list(mapped)
    }

    fn reduce(&mut self, rest: Vec<Value<'a>>) -> Outcome<Value<'a>> {
        let (mut total, start) = match rest.into_iter().next() {
            Some(initial) => (initial, 0),
            None if self.list.len() > 0 => (self.element(Some(0)), 1),
            None => return Err(Raised::new("Reduce of empty array with no initial value")),
        };
        for index in start..self.list.len() {
            self.evaluator.budget.step()?;
            let element = self.element(Some(index));
            let arguments =
                [total, element, Value::Number(to_f64(index)), Value::List(self.list.clone())];
            total = self.evaluator.apply(self.arrow, arguments)?;
        }
        Ok(total)
    }
}
