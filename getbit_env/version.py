"""The version of the distribution; the versions of the environments are in their ids (`getbit/GetBit-v0`)."""

__version__ = "0.1.0"
