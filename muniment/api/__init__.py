"""The edges: the Python facade and what stands on it."""
