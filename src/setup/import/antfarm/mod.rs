//! antfarm: steps in a row, each an agent's, with `KEY: value` replies that fill one shared context.

pub(crate) mod agents;
pub(crate) mod convert;
pub(crate) mod gates;
pub(crate) mod loops;
pub(crate) mod replies;
