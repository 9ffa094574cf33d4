"""Trade-off curves of mechanisms, one module a family."""
