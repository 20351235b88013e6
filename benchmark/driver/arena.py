"""Knows what the arena's profiles ask for, and which answers are right."""

from __future__ import annotations

import functools
import gzip
import json
import os
import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .answers import Answer, Connection

FOLDER = Path(__file__).resolve().parents[2] / "build" / "benchmark" / "arena"
DATASET_OCTETS = 12_482
ITEMS = 50
# What is asked for and how its totals are multiplied; load/arena.lua has the
# same.
PAGES = ((1, 3), (5, 7), (10, 2), (15, 5), (25, 4), (40, 8), (50, 6))
PAGES_COMPRESSED = ((25, 4), (40, 8), (50, 6))
ACCEPTED = "Accept-Encoding: gzip, br"
ECHO_OCTETS = 10_240
TEXT = "text/plain"
JSON = "application/json"
OCTETS = "application/octet-stream"
# The files of the benchmark. Those of text have compressed siblings.
FILE_OCTETS = {
    "analytics.js": 12288, "app.js": 204800, "bold.woff2": 22528,
    "components.css": 204800, "footer.html": 56320, "header.html": 122880,
    "helpers.js": 22528, "hero.webp": 46080, "icon-sprite.svg": 71680,
    "layout.css": 25600, "logo.svg": 15344, "manifest.json": 2883,
    "regular.woff2": 18432, "reset.css": 8192, "router.js": 35840,
    "theme.css": 18432, "thumb1.webp": 8192, "thumb2.webp": 6144,
    "utilities.css": 61440, "vendor.js": 307200,
}  # fmt: skip
BINARY_SUFFIXES = (".webp", ".woff2")
_WORDS = ("color", "margin", "function", "return", "display", "const", "width")
# Fields that an answer may have beside those of every answer.
_FREE_FIELDS = {
    "date", "server", "connection", "keep-alive", "vary", "content-type",
    "content-length", "transfer-encoding", "content-encoding", "location",
    "x-cache",
}


@dataclass(frozen=True)
class Asked:
    """Is a request, and what its answer must be."""

    octets: bytes
    # Answers that are of no type may have any.
    content_type: str
    content: bytes
    is_compressed: bool = False
    status: int = 200
    # What the content must be, if it need not be these octets.
    is_right: Callable[[bytes], bool] | None = None
    # What the field X-Cache must say.
    cached: str = ""


def request(
    method: str, path: str, *fields: str, content: bytes | None = None
) -> bytes:
    """Gives the octets of a request; content gets its length."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost:8080", *fields]
    if content is not None:
        lines.append(f"Content-Length: {len(content)}")
    return "\r\n".join([*lines, "", ""]).encode() + (content or b"")


def write_data(folder: Path) -> None:
    """Writes a data set like that of the benchmark: as long, of as many items
    with the same fields."""
    words = ("alpha", "béta", 'gam"ma', "delta", "eco", "new")
    items = [
        {
            "id": number,
            "name": f"{words[number % 6].title()} {number}",
            "category": ("tools", "office", "auto")[number % 3],
            "price": number * 37 % 500 + 1,
            "quantity": number * 11 % 97,
            "active": number % 4 != 0,
            "tags": list(words[: number % 4 + 1]),
            "rating": {"score": number % 50, "count": number * 13},
        }
        for number in range(1, ITEMS + 1)
    ]
    text = json.dumps(items, indent=1, ensure_ascii=False).encode()
    folder.mkdir(parents=True, exist_ok=True)
    # Others may read it meanwhile, who write the same.
    part = folder / f"dataset.{os.getpid()}"
    part.write_bytes(text.ljust(DATASET_OCTETS))
    part.replace(folder / "dataset.json")


def write_files(folder: Path, brotli: Callable[[bytes], bytes]) -> None:
    """Writes files like those of the benchmark, and their compressed siblings."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, octets in FILE_OCTETS.items():
        words = random.Random(name)
        if name.endswith(BINARY_SUFFIXES):
            (folder / name).write_bytes(words.randbytes(octets))
            continue
        lines = (
            f"{words.choice(_WORDS)} {words.choice(_WORDS)}: {words.random():.3f};"
            for _ in range(octets // 10)
        )
        content = "\n".join(lines).encode()[:octets]
        (folder / name).write_bytes(content)
        (folder / f"{name}.gz").write_bytes(gzip.compress(content, 9))
        (folder / f"{name}.br").write_bytes(brotli(content))


def write_certificate(folder: Path) -> None:
    """Makes a certificate as the benchmark mounts it: of its own signature, for
    localhost by its common name alone."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "2", "-subj", "/CN=localhost", "-keyout", folder / "server.key",
         "-out", folder / "server.crt"],
        check=True,
        capture_output=True,
        timeout=60,
    )


@functools.lru_cache
def data() -> Path:
    """Makes the data set of the servers that are measured; gives its folder."""
    write_data(FOLDER / "data")
    return FOLDER / "data"


@functools.lru_cache
def certificates() -> Path:
    """Makes the certificate of the servers that are measured; gives its
    folder."""
    write_certificate(FOLDER / "certificates")
    return FOLDER / "certificates"


def page(folder: Path, count: int, factor: int) -> bytes:
    """Gives the content that shows the first items of a data set."""
    items = [
        {**item, "total": item["price"] * item["quantity"] * factor}
        for item in _items(folder)[:count]
    ]
    return json.dumps(
        {"items": items, "count": len(items)},
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode()


@functools.lru_cache
def _items(folder: Path) -> list[dict]:
    return json.loads((folder / "dataset.json").read_text(encoding="utf-8"))


def asked_of(profile: str, folder: Path, octets: int = 0) -> list[Asked]:
    """Gives the requests of a profile; `octets` is how much it uploads."""
    sum_path = "/baseline11?a=13&b=42"
    get = Asked(request("GET", sum_path), TEXT, b"55")
    if profile == "baseline":
        chunked = request("POST", sum_path, "Transfer-Encoding: chunked")
        return [
            get,
            Asked(request("POST", sum_path, content=b"20"), TEXT, b"75"),
            Asked(chunked + b"2\r\n20\r\n0\r\n\r\n", TEXT, b"75"),
        ]
    if profile in ("limited", "latency"):
        return [get]
    if profile == "pipelined":
        return [Asked(request("GET", "/pipeline"), TEXT, b"ok")] * 16
    if profile == "async":
        return [Asked(request("GET", "/delay/10"), TEXT, b"10")]
    if profile == "json":
        return [_page_asked(folder, *pair) for pair in PAGES]
    if profile == "json_compressed":
        return [
            _page_asked(folder, *pair, ACCEPTED) for pair in PAGES_COMPRESSED
        ]
    if profile == "upload":
        content = b"x" * octets
        upload = request("POST", "/upload", content=content)
        return [Asked(upload, TEXT, str(octets).encode())]
    if profile == "echo":
        content = b"x" * ECHO_OCTETS
        fields = f"Content-Type: {OCTETS}"
        echo = request("POST", "/echo", fields, content=content)
        return [Asked(echo, OCTETS, content)]
    raise ValueError(f"no profile {profile}")


def _page_asked(folder: Path, count: int, factor: int, *fields: str) -> Asked:
    return Asked(
        request("GET", f"/json/{count}?m={factor}", *fields),
        JSON,
        page(folder, count, factor),
        is_compressed=bool(fields),
    )


def problem_of(answer: Answer, asked: Asked) -> str | None:
    """Says what is wrong with an answer."""
    version, _, rest = answer.status_line.partition(" ")
    if version != "HTTP/1.1" or not rest.startswith(str(asked.status)):
        return f"the status line is {answer.status_line!r}"
    if others := {n.lower() for n, _ in answer.fields} - _FREE_FIELDS:
        return f"the head has {sorted(others)}"
    if answer.values("x-cache") != ([asked.cached] if asked.cached else []):
        return f"X-Cache is {answer.values('x-cache')}, not {asked.cached!r}"
    types = [v.split(";")[0] for v in answer.values("content-type")]
    if asked.content_type and types != [asked.content_type]:
        return f"the type is {types}, not {asked.content_type}"
    codings = answer.values("content-encoding")
    if bool(codings) != asked.is_compressed:
        return f"the codings are {codings}"
    content = _decoded(answer.content, codings)
    if not (asked.is_right or asked.content.__eq__)(content):
        return f"wrong content: {answer.content[:80]!r}"
    return None


def _decoded(content: bytes, codings: list[str]) -> bytes:
    if codings == ["gzip"]:
        return gzip.decompress(content)
    if codings == ["br"]:
        # Only who measures compression needs it.
        import brotli

        return brotli.decompress(content)
    return content


def first_problem(connection: Connection, asked: list[Asked]) -> str | None:
    """Asks twice, all requests of a round ahead of the answers; says what is
    wrong."""
    for _ in range(2):
        connection.send_octets(b"".join(one.octets for one in asked))
        for one in asked:
            if problem := problem_of(connection.answer(), one):
                return problem
    return None
