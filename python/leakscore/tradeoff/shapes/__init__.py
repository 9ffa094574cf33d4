"""Curves made of points or of other curves: polygons, hulls, brackets."""
