"""Files: tables of records and columns of scores are read, results are written."""

from leakscore_app.tables.cells import ReadingOptions

__all__ = ["ReadingOptions"]
