"""The measured parts of the pages on audits: ``python -m bench.audits``."""
