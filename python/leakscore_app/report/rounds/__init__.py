"""What rounds of a game say of a record, and whose games are worth playing."""
