"""``leakscore ask``: answers questions about a table, and keeps a ledger of what was answered."""
