"""The scores of an audit: sorted scores, counts of bins, or bits in the order of the scores."""
