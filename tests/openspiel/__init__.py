"""The game in OpenSpiel; the tests are skipped where OpenSpiel is not installed."""
