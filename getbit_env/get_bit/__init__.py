"""Get Bit!, the board game, as a multi-agent environment."""
