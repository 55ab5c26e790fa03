"""Games in a terminal: a person plays (`play`), or agents do and a person looks on (`watch`)."""
