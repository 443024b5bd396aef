//! What commands take: arguments, texts, times.

pub(crate) mod arguments;
pub(crate) mod length;
pub(crate) mod since;
pub(crate) mod text;
