"""Signals of shadow models: checked, and summed over the models IN and OUT of each record."""
