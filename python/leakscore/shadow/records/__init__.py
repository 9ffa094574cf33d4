"""Which records an attack finds: a table of records from the scores of many target models."""
