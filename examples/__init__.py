"""Small programs to start from, each run from a checkout as `python -m examples.NAME`."""
