"""Commands over `getbit_env`: `getbit --help` lists them; in a checkout, `python -m eval.NAME` runs one."""
