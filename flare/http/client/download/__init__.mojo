"""Downloads files, and continues downloads that were interrupted."""
