"""An attack on the package: odd arguments, damaged files, kills at any moment, full disks. `python -m tests.attack --help`."""
