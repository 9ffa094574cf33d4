"""What is known of a table of any length after it was read block by block a few times."""
