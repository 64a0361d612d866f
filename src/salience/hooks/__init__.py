"""Reading and rewriting representations inside a model. All hooks of the library are here, each inside a `with`."""
