//! Compiles literals, and the lists, objects and templates built from them.

use oxc_ast::ast::{
    ArrayExpression, ArrayExpressionElement, NumericLiteral, ObjectExpression, ObjectProperty,
    ObjectPropertyKind, PropertyKey, PropertyKind, StringLiteral, TemplateLiteral,
};
use oxc_span::{GetSpan, Span};

use super::{Compiler, check_member};
use crate::rules::condition::ast::{Item, Kind, Node};
use crate::rules::condition::error::{Compiled, ConditionFault};
use crate::rules::condition::number;

pub(crate) fn number(literal: &NumericLiteral<'_>) -> Compiled<Kind> {
    let raw = literal.raw.as_ref().map_or("", |raw| raw.as_str());
    if raw.len() > 1 && raw.starts_with('0') && raw.as_bytes()[1].is_ascii_digit() {
        return Err(ConditionFault::refused(literal.span, "a number cannot begin with `0`")
            .help("leave the leading zero out; for octal, write `0o17`"));
    }
    Ok(Kind::Number(literal.value))
}

pub(crate) fn text(literal: &StringLiteral<'_>) -> Compiled<Kind> {
    if literal.lone_surrogates {
        return Err(half_a_pair(literal.span));
    }
    if literal.raw.as_ref().is_some_and(|raw| has_octal_escape(raw)) {
        return Err(ConditionFault::refused(literal.span, "a text cannot contain octal escapes")
            .help("write the character itself, or `\\x` with two digits"));
    }
    Ok(Kind::Text(literal.value.as_str().into()))
}

/// Returns the name that a literal key of an object or a pattern gives.
pub(crate) fn key(key: &PropertyKey<'_>) -> Compiled<Box<str>> {
    let name: Box<str> = match key {
        PropertyKey::StaticIdentifier(identifier) => identifier.name.as_str().into(),
        PropertyKey::StringLiteral(literal) if !literal.lone_surrogates => {
            literal.value.as_str().into()
        }
        PropertyKey::NumericLiteral(literal) => number::format(literal.value).into(),
        other => {
            return Err(ConditionFault::refused(
                other.span(),
                "a key must be a plain name, text or number",
            ));
        }
    };
    check_member(&name, key.span())?;
    Ok(name)
}

impl Compiler<'_> {
    pub(crate) fn template(&mut self, template: &TemplateLiteral<'_>) -> Compiled<Kind> {
        let mut pieces = Vec::with_capacity(template.quasis.len());
        for quasi in &template.quasis {
            match &quasi.value.cooked {
                Some(cooked) if !quasi.lone_surrogates => pieces.push(cooked.as_str().into()),
                _ => return Err(half_a_pair(quasi.span)),
            }
        }
        let expressions = template.expressions.iter().map(|expression| self.expression(expression));
        Ok(Kind::Template(pieces, expressions.collect::<Compiled<_>>()?))
    }

    pub(crate) fn list(&mut self, list: &ArrayExpression<'_>) -> Compiled<Kind> {
        let elements = list.elements.iter().map(|element| match element {
            ArrayExpressionElement::SpreadElement(spread) => {
                self.expression(&spread.argument).map(Item::Spread)
            }
            ArrayExpressionElement::Elision(gap) => {
                Err(ConditionFault::refused(gap.span, "a list cannot have gaps")
                    .help("write `undefined`"))
            }
            element => self.expression(element.to_expression()).map(Item::One),
        });
        Ok(Kind::List(elements.collect::<Compiled<_>>()?))
    }

    pub(crate) fn record(&mut self, object: &ObjectExpression<'_>) -> Compiled<Kind> {
        let entries = object.properties.iter().map(|property| match property {
            ObjectPropertyKind::ObjectProperty(property) => self.entry(property),
            ObjectPropertyKind::SpreadProperty(spread) => Err(ConditionFault::refused(
                spread.span,
                "an object cannot be spread in a condition",
            )
            .help("write the keys that you need")),
        });
        Ok(Kind::Record(entries.collect::<Compiled<_>>()?))
    }

    fn entry(&mut self, property: &ObjectProperty<'_>) -> Compiled<(Box<str>, Node)> {
        if property.method || property.computed || property.kind != PropertyKind::Init {
            return Err(ConditionFault::refused(
                property.span,
                "an object's entries must be plain `key: value` pairs",
            ));
        }
        Ok((key(&property.key)?, self.expression(&property.value)?))
    }
}

/// Returns whether `raw` has a backslash before a digit, but for a plain `\0`; the parser leaves that rule to others.
fn has_octal_escape(raw: &str) -> bool {
    let mut characters = raw.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            continue;
        }
        match characters.next() {
            Some('1'..='9') => return true,
            Some('0') if characters.peek().is_some_and(char::is_ascii_digit) => return true,
            _ => {}
        }
    }
    false
}

fn half_a_pair(span: Span) -> ConditionFault {
    ConditionFault::refused(span, "this escape is only half a character")
        .help("write the character itself")
}
