"""Mutants that a program makes: what they are, how they are built, and which tests see them."""
