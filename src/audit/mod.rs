//! The git repository: what is committed, and how a change is committed. May use `format` and `model`, never `engine` or `store`.
