"""The pure core: what may happen to a memory, and what follows. No clock, no I/O."""
