"""One module a format: from the bytes of a file to its cells, column by column."""
