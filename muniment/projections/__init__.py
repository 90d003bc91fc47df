"""Read models derived from the ledger. Each can be dropped and rebuilt."""
