"""Starts a PostgreSQL server of its own for the workloads that ask one."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

from .arena_database import statements

_CLUSTER = (
    Path(__file__).resolve().parents[2] / "tests/python/postgres/cluster.py"
)
# Some servers open 32 each, and all are measured in turn.
_CONNECTIONS_MAX = 400
_FILLED = "filled"
_NAME = "benchmark"
# JSON keeps a product's text as it is; the others are what is computed with.
_PRODUCTS = """
    CREATE TABLE products (
        id int PRIMARY KEY, text text NOT NULL, brand text NOT NULL,
        price float8 NOT NULL
    );
    INSERT INTO products
        SELECT number - 1, product::text, product->>'brand',
            (product->>'price')::float8
        FROM json_array_elements(pg_read_file('{file}')::json)
            WITH ORDINALITY AS pool(product, number);
"""


class Databases:
    """Is the server, once a workload asks for it; a `with` block ends it."""

    def __init__(self, products: Path):
        self._products = products
        self._module = _module_of_tests()
        self._cluster = None

    def __enter__(self) -> Databases:
        return self

    def __exit__(self, *_) -> None:
        if self._cluster:
            self._cluster.close()

    def problem(self) -> str | None:
        """Says why there can be no server."""
        return self._module.missing()

    def fresh(self) -> str:
        """Makes a database with all tables; gives its URL. The one that was
        given before ends."""
        if self._cluster is None:
            self._cluster = self._module.Cluster()
            self._fill()
        self._cluster.psql(f"DROP DATABASE IF EXISTS {_NAME} WITH (FORCE)")
        self._cluster.psql(f"CREATE DATABASE {_NAME} TEMPLATE {_FILLED}")
        # Loopback needs no TLS, which some clients would begin with.
        return self._cluster.url(_NAME, "?sslmode=disable", host="127.0.0.1")

    def _fill(self) -> None:
        cluster = self._cluster
        cluster.psql(f"ALTER SYSTEM SET max_connections = {_CONNECTIONS_MAX}")
        cluster.stop()
        cluster.start()
        file = cluster.folder / "products.json"
        shutil.copyfile(self._products, file)
        file.chmod(0o644)
        cluster.psql(f"CREATE DATABASE {_FILLED}")
        cluster.psql(statements(), _FILLED)
        cluster.psql(_PRODUCTS.format(file=file), _FILLED)
        cluster.psql("VACUUM ANALYZE", _FILLED)


def _module_of_tests() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cluster", _CLUSTER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
