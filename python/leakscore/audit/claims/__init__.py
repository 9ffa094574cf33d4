"""What scores refute: trade-off curves, one by one or a family of them."""
