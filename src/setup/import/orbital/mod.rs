//! Orbital: steps in TOML, run one after the other; a gate's verdict is read from its text.

pub(crate) mod convert;
pub(crate) mod presets;
