//! The tree of an allowed expression.

use oxc_span::Span;
use oxc_syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};

use super::method::Method;

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// What an error points at: a member's name, a call's method, else the whole expression.
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Box<str>),
    List(Vec<Node>),
    /// A value of the scope.
    Name(Box<str>),
    /// A parameter, by its position among all parameters in force at this point.
    Local(usize),
    Member(Link, Box<str>),
    Index(Link, Box<Node>),
    Call(Link, Method, Argument),
    /// A whole chain, where a short circuit by `?.` ends.
    Chain(Box<Node>),
    Unary(UnaryOperator, Box<Node>),
    Logical(LogicalOperator, Box<Node>, Box<Node>),
    Binary(BinaryOperator, Box<Node>, Box<Node>),
    Conditional(Box<Node>, Box<Node>, Box<Node>),
}

/// The object of a member access or a call.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) object: Box<Node>,
    /// Whether it is reached by `?.`.
    pub(crate) optional: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Argument {
    None,
    Value(Box<Node>),
    Arrow(Box<Arrow>),
}

/// A function that is handed to a method of lists.
#[derive(Clone, Debug)]
pub(crate) struct Arrow {
    /// How many parameters are in force around it.
    pub(crate) base: usize,
    pub(crate) parameters: usize,
    pub(crate) body: Node,
}
