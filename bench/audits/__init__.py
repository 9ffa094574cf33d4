"""The measured parts of docs/audits.md: ``python -m bench.audits``."""
