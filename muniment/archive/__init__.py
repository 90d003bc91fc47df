"""Cold storage, and evidence that stands alone."""
