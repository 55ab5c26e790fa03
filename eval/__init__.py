"""Thin commands over `getbit_env`: tournaments and benchmarks, run from a checkout."""
