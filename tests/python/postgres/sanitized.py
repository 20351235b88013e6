"""Lets AddressSanitizer watch `flare.postgres` and a newer libpq: `make test-asan`.

That program contains all of flare, and takes minutes to build."""

import unittest

from test_postgres_libraries import NewerLibraryTest, StormTest, setUpModule

__all__ = ["SanitizedCases", "SanitizedStorm", "setUpModule"]


class SanitizedCases(NewerLibraryTest):
    is_sanitized = True


class SanitizedStorm(StormTest):
    is_sanitized = True


del NewerLibraryTest, StormTest

if __name__ == "__main__":
    unittest.main()
