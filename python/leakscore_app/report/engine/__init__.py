"""From a table to the numbers of a report: read, score, play, find noise, change, describe."""
