"""Fuzzing: seeded random attempts at what must not fail, `python -m tests.fuzz` for long runs."""
