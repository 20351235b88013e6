"""The spans of requests: where they lie, and how they are found."""
