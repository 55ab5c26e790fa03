"""What can be known exactly of Get Bit!: solved games, best responses, exploitability. See `docs/exact.md`."""
