//! The nouns. No I/O, no clock, no serde of foreign shapes.
