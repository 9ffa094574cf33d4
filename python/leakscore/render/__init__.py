"""What texts and pages are made of: wrapped lines, HTML elements, charts."""
