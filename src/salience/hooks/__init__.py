"""Reading and rewriting what passes through a model: the only place where hooks are, always inside a `with`."""
