//! Small values that many nouns are made of.

pub(crate) mod age;
pub(crate) mod duration;
pub(crate) mod histogram;
pub(crate) mod severity;
pub(crate) mod suggestion;
pub(crate) mod word_enum;
