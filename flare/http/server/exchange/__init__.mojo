"""One request: its handler runs, and its response is written."""
