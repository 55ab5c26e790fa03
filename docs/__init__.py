"""Pages, and what makes parts of them from code."""
