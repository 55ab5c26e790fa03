"""The board game Get Bit! for research on multi-agent learning."""
