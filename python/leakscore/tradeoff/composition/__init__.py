"""Certified curves of many steps, from the laws of their losses."""
