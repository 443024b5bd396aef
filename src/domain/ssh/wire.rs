//! The wire form that keys and signatures have inside: lengths of four bytes, and what is that long.

/// What is left to read.
pub(crate) struct Wire<'b>(&'b [u8]);

impl<'b> Wire<'b> {
    pub(crate) fn of(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    /// Takes so many bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes a number of four bytes.
    pub(crate) fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Takes a string of bytes.
    pub(crate) fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    /// Takes a string of text.
    pub(crate) fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// Takes a number of any length that is greater than 0, as the one form there is of it; without the zero that says it is positive.
    pub(crate) fn large(&mut self) -> Option<&'b [u8]> {
        let bytes = self.bytes()?;
        match bytes {
            [0, next, ..] if *next >= 0x80 => Some(&bytes[1..]),
            [first, ..] if (1..0x80).contains(first) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the value if nothing is left.
    pub(crate) fn end<T>(&self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}
