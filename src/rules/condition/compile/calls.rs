//! Compiles calls: methods and functions from the lists, and the functions handed to them.

use oxc_ast::ast::{
    Argument, ArrowFunctionBody, ArrowFunctionExpression, BindingPattern, CallExpression,
    Expression, StaticMemberExpression,
};
use oxc_span::{GetSpan, Span};

use super::{Compiler, check_member, is_namespace, link, literals};
use crate::rules::condition::ast::{Arrow, Item, Kind, MethodCall, Node, Pattern};
use crate::rules::condition::builtins::Builtin;
use crate::rules::condition::error::{Compiled, ConditionFault, place};
use crate::rules::condition::methods::Method;
use crate::rules::condition::{builtins, error};

/// Returns whether `name` is a function that is called by that name alone.
pub(crate) fn is_function(name: &str) -> bool {
    Builtin::from_name(name).is_some()
}

/// Lists the functions, for help.
pub(crate) fn functions() -> String {
    let names: Vec<String> = builtins::NAMES.iter().map(|name| format!("`{name}`")).collect();
    format!("the functions of conditions are {}", names.join(", "))
}

impl Compiler<'_> {
    pub(crate) fn call(&mut self, call: &CallExpression<'_>) -> Compiled<Node> {
        if call.optional {
            return Err(ConditionFault::refused(
                call.span,
                "a call cannot be optional in a condition",
            )
            .help("make the member optional, as in `metadata.labels?.includes('api')`"));
        }
        match &call.callee {
            Expression::StaticMemberExpression(member) => {
                if let Expression::Identifier(object) = &member.object
                    && !self.is_known(&object.name)
                    && is_namespace(&object.name)
                {
                    return self.builtin(
                        &format!("{}.{}", object.name, member.property.name),
                        member.span,
                        call,
                    );
                }
                self.method(member, call)
            }
            Expression::Identifier(function) if !self.is_known(&function.name) => {
                self.builtin(&function.name, function.span, call)
            }
            Expression::Identifier(value) => Err(ConditionFault::refused(
                value.span,
                format!("`{}` is not a function", value.name),
            )
            .help("call one of its methods, such as `includes`")),
            callee => Err(ConditionFault::refused(
                callee.span(),
                "only a method or a function can be called, by its name",
            )
            .help("for example `tags.includes('api')`")),
        }
    }

    fn builtin(&mut self, name: &str, span: Span, call: &CallExpression<'_>) -> Compiled<Node> {
        let Some(builtin) = Builtin::from_name(name) else {
            let message = format!("the function `{name}` is not available in conditions");
            return Err(ConditionFault::refused(span, message).help(functions()));
        };
        let kind = Kind::Builtin(builtin, self.arguments(&call.arguments)?);
        Ok(Node { kind, place: place(span) })
    }

    fn method(
        &mut self,
        member: &StaticMemberExpression<'_>,
        call: &CallExpression<'_>,
    ) -> Compiled<Node> {
        let name = &member.property;
        check_member(&name.name, name.span)?;
        let receiver = self.expression(&member.object)?;
        let method =
            Method::from_name(&name.name).ok_or_else(|| error::method(&name.name, name.span))?;
        let (arrow, rest) = if method.takes_arrow() {
            let (first, rest) = call
                .arguments
                .split_first()
                .map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
            match first.and_then(as_arrow) {
                Some(arrow) => (Some(self.arrow(arrow)?), rest),
                None => return Err(needs_arrow(method, first.map_or(name.span, GetSpan::span))),
            }
        } else {
            (None, &call.arguments[..])
        };
        let arguments = self.arguments(rest)?;
        let call = MethodCall { receiver, link: link(member.optional), method, arrow, arguments };
        Ok(Node { kind: Kind::Method(Box::new(call)), place: place(name.span) })
    }

    fn arguments(&mut self, arguments: &[Argument<'_>]) -> Compiled<Vec<Item>> {
        let items = arguments.iter().map(|argument| match argument {
            Argument::SpreadElement(spread) => self.expression(&spread.argument).map(Item::Spread),
            argument => self.expression(argument.to_expression()).map(Item::One),
        });
        items.collect()
    }

    fn arrow(&mut self, arrow: &ArrowFunctionExpression<'_>) -> Compiled<Arrow> {
        if arrow.r#async {
            return Err(ConditionFault::refused(
                arrow.span,
                "a condition cannot wait for anything",
            )
            .help("leave `async` out"));
        }
        let ArrowFunctionBody::FunctionBody(block) = &arrow.body else {
            let base = self.parameters.len();
            let parameters = self.parameters(arrow)?;
            let body = self.expression(arrow.body.to_expression());
            self.parameters.truncate(base);
            return Ok(Arrow { base, parameters, body: body? });
        };
        Err(ConditionFault::refused(
            block.span,
            "a function in a condition is one expression, not a block",
        )
        .help("leave out the braces and `return`, as in `tag => tag === 'api'`"))
    }

    fn parameters(&mut self, arrow: &ArrowFunctionExpression<'_>) -> Compiled<Vec<Pattern>> {
        if let Some(rest) = &arrow.params.rest {
            return Err(ConditionFault::refused(
                rest.span,
                "a function in a condition cannot collect parameters",
            )
            .help("name the parameters that you need"));
        }
        let base = self.parameters.len();
        let patterns = arrow.params.items.iter().map(|parameter| {
            if parameter.initializer.is_some() {
                return Err(no_default(parameter.span));
            }
            self.pattern(&parameter.pattern, base)
        });
        patterns.collect()
    }

    fn pattern(&mut self, pattern: &BindingPattern<'_>, base: usize) -> Compiled<Pattern> {
        match pattern {
            BindingPattern::BindingIdentifier(identifier) => {
                let name = identifier.name.as_str();
                if self.parameters[base..].iter().any(|known| known == name) {
                    return Err(ConditionFault::refused(
                        identifier.span,
                        format!("the parameter `{name}` comes twice"),
                    ));
                }
                self.parameters.push(name.to_owned());
                Ok(Pattern::Slot)
            }
            BindingPattern::ObjectPattern(object) if object.rest.is_none() => {
                let entries = object.properties.iter().map(|property| {
                    let key = if property.computed {
                        Err(ConditionFault::refused(
                            property.span,
                            "a pattern's keys must be plain names",
                        ))
                    } else {
                        literals::key(&property.key)
                    };
                    Ok((key?, place(property.key.span()), self.pattern(&property.value, base)?))
                });
                entries.collect::<Compiled<_>>().map(Pattern::Record)
            }
            BindingPattern::ArrayPattern(list) if list.rest.is_none() => {
                let elements = list.elements.iter().map(|element| {
                    element.as_ref().map(|element| self.pattern(element, base)).transpose()
                });
                elements.collect::<Compiled<_>>().map(Pattern::List)
            }
            BindingPattern::AssignmentPattern(assignment) => Err(no_default(assignment.span)),
            other => Err(ConditionFault::refused(
                other.span(),
                "a pattern in a condition cannot collect the rest",
            )
            .help("name the members that you need")),
        }
    }
}

fn as_arrow<'e, 'a>(argument: &'e Argument<'a>) -> Option<&'e ArrowFunctionExpression<'a>> {
    match argument.as_expression()?.without_parentheses() {
        Expression::ArrowFunctionExpression(arrow) => Some(arrow),
        _ => None,
    }
}

fn needs_arrow(method: Method, span: Span) -> ConditionFault {
    let name = method.name();
    let example = match method {
        Method::Reduce => "reduce((sum, x) => sum + x, 0)".to_owned(),
        _ => format!("{name}(x => x === 'api')"),
    };
    ConditionFault::refused(span, format!("`{name}` needs a function as its first argument"))
        .help(format!("for example `{example}`"))
}

fn no_default(span: Span) -> ConditionFault {
    ConditionFault::refused(span, "a parameter in a condition cannot have a default")
        .help("use `??` in the body")
}
