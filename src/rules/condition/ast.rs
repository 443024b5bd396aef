//! The tree of an allowed expression: owned, without positions of the parser's own, nothing that cannot be evaluated.

use super::builtins::Builtin;
use super::methods::Method;

/// A range of bytes in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// What an error points at: a member's name, a call's callee, else the whole expression.
    pub(crate) place: Place,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Box<str>),
    /// One piece of text more than there are expressions.
    Template(Vec<Box<str>>, Vec<Node>),
    List(Vec<Item>),
    Record(Vec<(Box<str>, Node)>),
    /// A value of the scope.
    Name(Box<str>),
    /// A parameter, by its position among all parameters that are in force at this point.
    Local(usize),
    Member(Box<Node>, Box<str>, Link),
    Index(Box<Node>, Box<Node>, Link),
    Method(Box<MethodCall>),
    Builtin(Builtin, Vec<Item>),
    /// Where a short circuit by `?.` ends.
    Chain(Box<Node>),
    Unary(Unary, Box<Node>),
    Logical(Logical, Box<Node>, Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
    Conditional(Box<Node>, Box<Node>, Box<Node>),
}

/// An element of a list or an argument of a call.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    One(Node),
    Spread(Node),
}

/// How a member is reached from its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// `.`
    Plain,
    /// `?.`
    Optional,
}

#[derive(Clone, Debug)]
pub(crate) struct MethodCall {
    pub(crate) receiver: Node,
    pub(crate) link: Link,
    pub(crate) method: Method,
    pub(crate) arrow: Option<Arrow>,
    pub(crate) arguments: Vec<Item>,
}

/// A function that is handed to a method of lists.
#[derive(Clone, Debug)]
pub(crate) struct Arrow {
    /// How many parameters are in force around it.
    pub(crate) base: usize,
    pub(crate) parameters: Vec<Pattern>,
    pub(crate) body: Node,
}

/// How a parameter takes its argument apart; every `Slot` is one local, in reading order.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    Slot,
    Record(Vec<(Box<str>, Place, Pattern)>),
    List(Vec<Option<Pattern>>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Unary {
    Not,
    Plus,
    Minus,
    Typeof,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Logical {
    And,
    Or,
    Coalesce,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Binary {
    StrictEqual,
    StrictUnequal,
    LooseEqual,
    LooseUnequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    In,
}
