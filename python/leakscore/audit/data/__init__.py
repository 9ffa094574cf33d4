"""The scores of an audit: sorted, binned, or the bits in their order."""
