"""From a question to the memories that answer it, now or as of any moment before."""
