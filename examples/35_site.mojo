# Run: mojo run -I . examples/35_site.mojo
# Prints: / 200 no-cache
# Prints: /assets/app-3f9a1c2e.js 200 public, max-age=31536000, immutable
# Prints: /settings 200 no-cache
# Prints: /assets/app-00000000.js 404
# Prints: sent again: 304
"""Serves a site whose assets have a hash of their content in their names.

Browsers keep such a file for a year. They ask for the page each time, and get
304 until it changes. Paths of the page's own router get the page too.
"""

from std.os import mkdir
from std.tempfile import TemporaryDirectory

from flare.http import CacheRule, FileOptions, StaticFiles
from flare.prelude import *
from flare.testing import TestClient


def site(folder: String) raises -> StaticFiles:
    return StaticFiles(
        folder,
        cache_control=[CacheRule("*.html", "no-cache")],
        spa_fallback="index.html",
        options=FileOptions(immutable_hashed=True),
    )


def write(path: String, text: String) raises:
    with open(path, "w") as file:
        file.write(text)


def main() raises:
    with TemporaryDirectory() as dist:
        # As a bundler leaves it.
        mkdir(dist + "/assets")
        write(
            dist + "/index.html",
            "<!doctype html><script src=/assets/app-3f9a1c2e.js></script>",
        )
        write(dist + "/assets/app-3f9a1c2e.js", "console.log('hello')")
        var client = TestClient(site(dist))
        var browser = HeaderMap()
        browser.set("Accept", "text/html,*/*;q=0.8")
        for path in [
            "/",
            "/assets/app-3f9a1c2e.js",
            "/settings",
            "/assets/app-00000000.js",
        ]:
            var answer = client.get(path, headers=browser)
            print(path, answer.status, end="")
            var kept = answer.headers.get("Cache-Control")
            print(" " + kept.value() if kept else "")
        var tag = client.get("/").headers.get("ETag").value()
        browser.set("If-None-Match", tag)
        print("sent again:", client.get("/", headers=browser).status)
