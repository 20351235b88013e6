"""Builds the site, checks its links and lets a browser search in it."""

import functools
import http.server
import json
import re
import subprocess
import sys
import threading
import unittest
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "tools")]

from api_pages import broken, imports, signature  # noqa: E402
from loopback.programs import has_no_browser_package  # noqa: E402
from site_browser import Browser  # noqa: E402

HTML = ROOT / "build" / "site" / "html"
BUILD_SECONDS_MAX = 600
# What makes a browser ask for something by itself.
LOADING = {
    "img": "src", "script": "src", "iframe": "src", "source": "src",
    "link": "href", "audio": "src", "video": "src", "object": "data",
}
SCRIPT_SOURCE = re.compile(r"""\bfrom +["']https?:|@import|url\(["']?https?:""")
SEARCHED = "HttpClient"
RESULT = f"""[...document.querySelectorAll(".md-search-result__link")].find(
    (link) => link.querySelector("h1")?.textContent.trim() === "{SEARCHED}")"""


def setUpModule():
    """Builds the site."""
    finished = subprocess.run(
        [sys.executable, ROOT / "tools" / "site.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_SECONDS_MAX,
    )
    if finished.returncode != 0:
        raise AssertionError(finished.stdout)


class Page(HTMLParser):
    """Collects links, what is loaded, and what a link can name."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        source = values.get(LOADING.get(tag, ""))
        if source and values.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(source)


@functools.cache
def pages():
    return {path: Page(path) for path in sorted(HTML.rglob("*.html"))}


class Links(unittest.TestCase):
    def test_pages_load_files_of_the_site_alone(self):
        self.assertGreater(len(pages()), 300)
        for path, page in pages().items():
            foreign = [
                x for x in page.loaded if urlsplit(x).netloc or ":" in x
            ]
            self.assertEqual(foreign, [], path)
        for path in HTML.rglob("*.css"):
            found = SCRIPT_SOURCE.findall(path.read_text())
            self.assertEqual(found, [], path)

    def test_links_lead_to_pages_and_headings(self):
        for path, page in pages().items():
            if path.name == "404.html":
                # Its links are those of a server's root.
                continue
            for link in page.links + page.loaded:
                parts = urlsplit(link)
                if parts.scheme:
                    continue
                target = path
                if parts.path:
                    target = (path.parent / unquote(parts.path)).resolve()
                if not target.exists():
                    self.fail(f"{path}: {link} leads nowhere")
                if parts.fragment and target.suffix == ".html":
                    anchors = pages()[target].anchors
                    if unquote(parts.fragment) not in anchors:
                        self.fail(f"{path}: {link} has no heading")

    def test_each_name_of_the_prelude_and_of_http_is_described(self):
        for package, source in (
            ("prelude", ROOT / "flare/prelude.mojo"),
            ("http", ROOT / "flare/http/__init__.mojo"),
        ):
            index = (HTML / "api" / package / "index.html").read_text()
            found = imports(source.read_text(), f"flare.{package}")
            names = [name for _, names in found for name in names]
            self.assertGreater(len(names), 30)
            lost = [
                name
                for name in names
                if f"<code>{name}</code></a>" not in index
                and f'id="{name.lower()}"' not in index
            ]
            self.assertEqual(lost, [], package)


@unittest.skipIf(
    has_no_browser_package(), "this system has no package of the browser"
)
class Search(unittest.TestCase):
    def find(self, start):
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(start)
        browser.wait_for(
            'document.querySelector(".md-search__input").focus() ?? true'
        )
        browser.type(SEARCHED)
        browser.wait_for(f"!!{RESULT}")
        browser.wait_for(f"{RESULT}.click() ?? true")
        title = browser.wait_for(
            'location.pathname.includes("/api/")'
            ' && document.querySelector("article h1").innerText'
        )
        self.assertEqual(title.split("\n")[0].strip(" ¶"), SEARCHED)
        self.assertTrue(
            browser.wait_for('document.body.textContent.includes("timeout_ms")')
        )
        return browser

    def test_it_opens_a_page_of_the_api_from_files(self):
        browser = self.find((HTML / "index.html").as_uri())
        self.assertGreater(len(browser.requests), 5)
        for url in browser.requests:
            self.assertIn(urlsplit(url).scheme, ("file", "data", "about"), url)
        self.assertEqual(browser.trap.asked, [])

    def test_it_opens_a_page_of_the_api_from_a_server(self):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        handler = functools.partial(Quiet, directory=HTML)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        host = f"127.0.0.1:{server.server_port}"
        browser = self.find(f"http://{host}/index.html")
        self.assertGreater(len(browser.requests), 5)
        for url in browser.requests:
            parts = urlsplit(url)
            is_ours = parts.netloc == host or parts.scheme in ("data", "about")
            self.assertTrue(is_ours, url)
        self.assertEqual(browser.trap.asked, [])

    def test_what_leads_to_another_host_is_noticed(self):
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(
            "data:text/html,<script src='http://flare.invalid/a.js'></script>"
        )
        self.assertIn("http://flare.invalid/a.js", browser.requests)
        self.assertEqual(
            browser.trap.asked, ["GET http://flare.invalid/a.js HTTP/1.1"]
        )


class Signatures(unittest.TestCase):
    def test_imports_are_found_through_dots(self):
        text = "from ..a.b import (\n    X,\n    _y,\n)\nfrom .c import z\n"
        self.assertEqual(
            imports(text, "flare.http.server"),
            [("flare.http.a.b", ["X"]), ("flare.http.server.c", ["z"])],
        )

    def test_long_defaults_are_left_out_and_raises_is_said(self):
        default = "Config(first=Int(1), second=Int(2))"
        text = f"def bind(address: Addr, config: Config = {default}) -> Self"
        overload = {
            "name": "bind",
            "signature": text,
            "args": [
                {"name": "address"},
                {"name": "config", "default": default},
            ],
            "raises": True,
            "isStatic": True,
        }
        self.assertEqual(
            signature(overload),
            "@staticmethod\n"
            "def bind(address: Addr, config: Config = …) raises -> Self",
        )

    def test_arguments_are_divided_outside_of_brackets_alone(self):
        text = "def f[T: A, //](self, f: def(Int, T) -> T, x: Dict[A, B]) -> T"
        self.assertEqual(
            broken(text),
            "def f[T: A, //](\n"
            "    self,\n"
            "    f: def(Int, T) -> T,\n"
            "    x: Dict[A, B],\n"
            ") -> T",
        )

    def test_the_search_holds_every_page(self):
        index = json.loads((HTML / "search/search_index.json").read_text())
        found = {entry["location"].split("#")[0] for entry in index["docs"]}
        wanted = {
            path.relative_to(HTML).as_posix()
            for path in pages()
            if path.name != "404.html"
        }
        self.assertEqual(wanted - found - {"index.html"}, set())


if __name__ == "__main__":
    unittest.main()
