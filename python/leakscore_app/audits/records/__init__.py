"""``leakscore risk FILE``: the records of a file, each judged by an attack's scores of it."""
