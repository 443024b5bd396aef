//! Files: layout, atomic writes, the lock, the inbox. May use `format` and `model`, never `engine`.
