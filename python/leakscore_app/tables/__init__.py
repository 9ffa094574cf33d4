"""Files: tables of records and columns of scores are read, results are written."""
