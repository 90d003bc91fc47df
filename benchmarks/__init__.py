"""What is measured, how, and against what; `benchmarks/README.md` has the results."""
