"""What reports are made of: documents of sections, as text and as page, and charts."""
