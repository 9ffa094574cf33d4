"""Reports on tables that are read block by block, in memory that does not grow with them."""
