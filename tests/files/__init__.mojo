"""Tests of `flare.http.files`."""
