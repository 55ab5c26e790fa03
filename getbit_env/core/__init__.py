"""What every game of the package stands on. This folder knows no game; see `docs/architecture.md`."""
