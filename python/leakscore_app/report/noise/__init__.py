"""The noise that a report offers: of the shape that costs least, and how it is told."""
