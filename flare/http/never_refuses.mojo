"""Marks the extractors that refuse no request."""


trait NeverRefuses:
    """An extractor that has a value for every request, unless the program is
    wrong.
    """

    ...
