"""`python -m getbit_env`: the command `getbit`, where its script is not on the path."""

from getbit_env.commands.main import entry

if __name__ == "__main__":
    entry()
