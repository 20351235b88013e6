"""Lets other makers' validators judge an OpenAPI document, and holds the server to
what its document says. A browser shows the page."""

import json
import random
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import has_no_browser_package  # noqa: E402
from loopback.subject import BACKENDS, ROOT, build  # noqa: E402
from site_browser import Browser  # noqa: E402

# In a folder of its own (tools/openapi.txt).
sys.path.insert(0, str(ROOT / ".venv" / "openapi"))

from jsonschema import Draft202012Validator  # noqa: E402
from openapi_spec_validator import OpenAPIV31SpecValidator  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "described.mojo"
SECONDS_MAX = 60
ROUNDS = 40
KEY = {"X-Api-Key": "s3cret"}
PROBLEM = "application/problem+json"
FORM = "application/x-www-form-urlencoded"
# Values that no schema of a simple type but that of their own type takes.
STRANGERS = (None, True, -1.5, "x", [], {}, 2**70)


def setUpModule():
    build(SOURCE)


class Server:
    """Is one process of the described server."""

    def __init__(self, backend):
        self.process = subprocess.Popen(
            [build(SOURCE), backend], stdout=subprocess.PIPE, text=True
        )
        self.origin = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def close(self):
        self.process.terminate()
        self.process.wait(SECONDS_MAX)
        self.process.stdout.close()

    def ask(self, method, target, content=None, media_type=None, headers=()):
        """Gives status, fields and content of an answer."""
        request = urllib.request.Request(
            self.origin + target, content, dict(headers), method=method.upper()
        )
        if media_type:
            request.add_header("Content-Type", media_type)
        opener = urllib.request.build_opener(_NoRedirects)
        try:
            answer = opener.open(request, timeout=SECONDS_MAX)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.headers, answer.read()


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Values:
    """Draws values that fit a schema, and such that do not."""

    def __init__(self, document, seed):
        self.document = document
        self.random = random.Random(seed)

    def resolve(self, schema):
        while "$ref" in schema:
            place = self.document
            for key in schema["$ref"][2:].split("/"):
                place = place[key]
            schema = place
        return schema

    def fitting(self, schema, depth=0):
        schema = self.resolve(schema)
        draw = self.random
        if "enum" in schema:
            return draw.choice(schema["enum"])
        if "anyOf" in schema:
            return self.fitting(draw.choice(schema["anyOf"]), depth + 1)
        kind = schema.get("type", "string")
        if isinstance(kind, list):
            kind = draw.choice(kind)
        if kind == "null":
            return None
        if kind == "boolean":
            return draw.random() < 0.5
        if kind == "number":
            return draw.choice([0, 1.5, -2e10, 7, draw.random()])
        if kind == "integer":
            return self.integer(schema)
        if kind == "string":
            return draw.choice(["", "lamp", "é 😀", 'a"b\\c', "a/b?c#d&e=f"])
        if kind == "array":
            count = draw.randrange(3) if depth < 4 else 0
            return [
                self.fitting(schema["items"], depth + 1) for _ in range(count)
            ]
        required = schema.get("required", ())
        value = {
            name: self.fitting(field, depth + 1)
            for name, field in schema.get("properties", {}).items()
            if name in required or draw.random() < 0.5
        }
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            value.update(
                (name, self.fitting(more, depth + 1)) for name in ("a", "é")
            )
        return value

    def integer(self, schema):
        lowest = {"int32": -(2**31), "int64": -(2**63)}
        highest = {"int32": 2**31 - 1, "int64": 2**63 - 1, "uint64": 2**64 - 1}
        form = schema.get("format")
        low = schema.get("minimum", lowest.get(form))
        high = schema.get("maximum", highest.get(form))
        return self.random.choice([low, high, 0, 1])

    def misfits(self, schema):
        """Gives values near a fitting one, of which each has one fault."""
        schema = self.resolve(schema)
        validator = self.validator(schema)
        base = self.fitting(schema)
        values = list(STRANGERS)
        if isinstance(base, dict):
            for name in schema.get("required", ()):
                values.append({k: v for k, v in base.items() if k != name})
            for name, field in schema.get("properties", {}).items():
                for inner in self.misfits_within(field):
                    values.append({**base, name: inner})
            values.append({**base, "unheard of": 1})
        return [value for value in values if not validator.is_valid(value)]

    def misfits_within(self, schema):
        schema = self.resolve(schema)
        values = list(STRANGERS)
        if schema.get("type") == "array":
            values += [[value] for value in STRANGERS]
        if schema.get("type") == "object":
            values += [{"a": value} for value in STRANGERS]
        return values

    def validator(self, schema):
        return Draft202012Validator(
            {**schema, "components": self.document["components"]}
        )


def text_of(value):
    """Gives a value as a parameter."""
    return value if isinstance(value, str) else json.dumps(value)


def fields_of(names_and_values):
    """Encodes the parameters of a query or a form."""
    pairs = []
    for name, value in names_and_values:
        for one in value if isinstance(value, list) else [value]:
            pairs.append((name, text_of(one)))
    return urllib.parse.urlencode(pairs)


class Described(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = []
        for backend in BACKENDS:
            server = Server(backend)
            cls.addClassCleanup(server.close)
            cls.servers.append(server)
        status, _, content = cls.servers[0].ask("get", "/openapi.json")
        assert status == 200
        cls.document = json.loads(content)

    def operations(self):
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                yield method, path, operation

    def target(self, path, operation, draw):
        """Gives a target whose parameters fit."""
        query = []
        for parameter in operation.get("parameters", ()):
            value = draw(parameter)
            if parameter["in"] == "path":
                text = urllib.parse.quote(text_of(value), safe="")
                # No route has an empty segment.
                path = path.replace("{%s}" % parameter["name"], text or "x")
            elif parameter["required"] or draw.random.random() < 0.5:
                query.append((parameter["name"], value))
        return path + ("?" + fields_of(query) if query else "")

    def content(self, operation, value_of):
        """Gives content and its type, or neither."""
        for media_type, content in (
            operation.get("requestBody", {}).get("content", {}).items()
        ):
            if media_type == FORM:
                fields = value_of(content["schema"])
                return (
                    fields_of(
                        (k, v) for k, v in fields.items() if v is not None
                    ).encode(),
                    media_type,
                )
            if "schema" not in content:
                return b"any octets", media_type
            return json.dumps(value_of(content["schema"])).encode(), media_type
        return None, None

    def check_answer(self, operation, answer, values, what):
        """Fails if the document does not say that the answer is possible."""
        status, headers, content = answer
        responses = operation["responses"]
        described = responses.get(str(status), responses.get("default"))
        self.assertIsNotNone(described, f"{what}: {status} {content!r}")
        contents = described.get("content")
        if not contents:
            return
        media_type = headers.get_content_type()
        self.assertIn(media_type, contents, what)
        schema = contents[media_type].get("schema", {})
        value = content.decode()
        if media_type.endswith("json"):
            value = json.loads(content)
        values.validator(schema).validate(value)

    def test_the_document_is_valid(self):
        OpenAPIV31SpecValidator(self.document).validate()
        for schema in self.document["components"]["schemas"].values():
            Draft202012Validator.check_schema(schema)
        ids = [o["operationId"] for _, _, o in self.operations()]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(len(ids), 11)

    def test_fitting_requests_get_described_answers(self):
        counts = {}
        for seed in range(ROUNDS):
            values = Values(self.document, seed)
            server = self.servers[seed % len(self.servers)]

            def draw(parameter):
                return values.fitting(parameter["schema"])

            draw.random = values.random
            for method, path, operation in self.operations():
                target = self.target(path, operation, draw)
                content, media_type = self.content(operation, values.fitting)
                answer = server.ask(method, target, content, media_type, KEY)
                what = f"{method} {target} {content!r}"
                self.check_answer(operation, answer, values, what)
                # What the schemas cannot say is refused by `validate` only.
                if answer[0] >= 400:
                    self.assertIn(answer[0], (404, 422), f"{what}: {answer}")
                key = operation["operationId"], answer[0] < 400
                counts[key] = counts.get(key, 0) + 1
        for method, path, operation in self.operations():
            good = counts.get((operation["operationId"], True), 0)
            self.assertGreater(good, 0, f"{method} {path} never succeeded")

    def test_misfitting_contents_get_problems(self):
        tried = 0
        for seed in range(4):
            values = Values(self.document, seed)
            server = self.servers[seed % len(self.servers)]
            for method, path, operation in self.operations():
                contents = operation.get("requestBody", {}).get("content", {})
                schema = contents.get("application/json", {}).get("schema")
                if not schema:
                    continue
                for value in values.misfits(schema):
                    content = json.dumps(value).encode()
                    answer = server.ask(
                        method, path, content, "application/json", KEY
                    )
                    what = f"{method} {path} {content!r}: {answer}"
                    self.assertIn(answer[0], (400, 422), what)
                    self.assertEqual(answer[1].get_content_type(), PROBLEM)
                    self.check_answer(operation, answer, values, what)
                    tried += 1
        self.assertGreater(tried, 200)

    def test_misfitting_parameters_get_problems(self):
        tried = 0
        values = Values(self.document, 1)
        for method, path, operation in self.operations():
            parameters = operation.get("parameters", ())
            for wrong in parameters:
                schema = values.resolve(wrong["schema"])
                kind = schema.get("items", schema)
                if kind == {"type": "string"}:
                    continue

                def draw(parameter, wrong=wrong):
                    if parameter is wrong:
                        return "no such value"
                    return values.fitting(parameter["schema"])

                # The wrong one is there.
                draw.random = random.Random()
                draw.random.random = lambda: 0
                target = self.target(path, operation, draw)
                answer = self.servers[0].ask(method, target, headers=KEY)
                what = f"{method} {target}: {answer}"
                self.assertEqual(answer[0], 400, what)
                self.assertEqual(answer[1].get_content_type(), PROBLEM, what)
                self.check_answer(operation, answer, values, what)
                tried += 1
        self.assertGreater(tried, 6)

    def test_other_refusals_are_described(self):
        values = Values(self.document, 1)
        paths = self.document["paths"]
        for method, path, content, media_type, headers, status in (
            ("post", "/items", b"{", "application/json", KEY, 400),
            ("post", "/items", b"{}", "text/plain", KEY, 415),
            ("post", "/orders", b"name=a", FORM, KEY, 400),
            ("post", "/orders", b"name=a", "text/plain", KEY, 415),
            ("get", "/search", None, None, KEY, 400),
            ("get", "/search?text=a&limit=0", None, None, KEY, 422),
            ("delete", "/items/1", None, None, {}, 401),
        ):
            answer = self.servers[0].ask(
                method, path, content, media_type, headers
            )
            self.assertEqual(answer[0], status, (path, answer))
            template = path.split("?")[0].replace("/1", "/{id}")
            self.check_answer(
                paths[template][method], answer, values, f"{method} {path}"
            )

    def test_fields_the_document_calls_optional_may_be_absent(self):
        values = Values(self.document, 1)
        schema = self.document["components"]["schemas"]["Item"]
        base = {
            name: values.fitting(field)
            for name, field in schema["properties"].items()
            if name in schema["required"]
        }
        base["price"] = 1
        optional = set(schema["properties"]) - set(schema["required"])
        self.assertEqual(optional, {"size", "note"})
        for more in ({}, {"size": None}, {"note": None, "unheard of": 1}):
            content = json.dumps({**base, **more}).encode()
            answer = self.servers[0].ask(
                "post", "/items", content, "application/json"
            )
            self.assertEqual(answer[0], 201, (more, answer))


class Watched(Browser):
    """Notes also what a page complains about."""

    def __init__(self, *options):
        self.complaints = []
        super().__init__(*options)
        self._call("Log.enable")
        self._call("Runtime.enable")

    def _take(self, message):
        method = message.get("method")
        parameters = message.get("params", {})
        if method == "Log.entryAdded":
            # It also gives advice on forms.
            if parameters["entry"]["level"] != "verbose":
                self.complaints.append(parameters["entry"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(parameters)
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(parameters)
        super()._take(message)

    def press(self, key, code, text=""):
        """Presses a key that is not a letter."""
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=code, text=text,
            )

    def emulate(self, width, scheme):
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=800, deviceScaleFactor=1, mobile=False,
        )
        self._call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def picture(self):
        return self._call("Page.captureScreenshot")["data"]


@unittest.skipIf(
    has_no_browser_package(), "this system has no package of the browser"
)
class Page(unittest.TestCase):
    def setUp(self):
        self.server = Server(BACKENDS[0])
        self.addCleanup(self.server.close)
        self.browser = Watched()
        self.addCleanup(self.browser.close)

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        self.assertEqual(self.browser.trap.asked, [])
        for url in self.browser.requests:
            self.assertTrue(url.startswith((self.server.origin, "data:")), url)

    def open(self, fragment=""):
        self.browser.open(f"{self.server.origin}/docs{fragment}")
        self.browser.wait_for("document.querySelector('.op') !== null")

    def text(self, selector):
        return self.browser.wait_for(
            f"document.querySelector({json.dumps(selector)}).textContent"
        )

    def click(self, selector):
        self.browser.wait_for(
            f"(document.querySelector({json.dumps(selector)}).click(), true)"
        )

    def fill(self, selector, value):
        self.browser.wait_for(
            f"(document.querySelector({json.dumps(selector)}).value ="
            f" {json.dumps(value)}, true)"
        )

    def test_it_lists_the_operations_by_their_tags(self):
        self.open()
        self.assertEqual(self.text("h1"), "Shop 1.2")
        self.assertEqual(self.text("#about"), "Sells <b>things</b> & more.")
        self.assertEqual(
            self.browser.wait_for(
                "[...document.querySelectorAll('h2')].map(h => h.textContent)"
            ),
            ["items", "folders", "search", "orders", "Schemas"],
        )
        self.assertEqual(
            self.text("#get_items_id summary"), "GET/items/{id}Shows an item"
        )

    def test_it_sends_requests(self):
        self.open("#post_items")
        self.click("#post_items button")
        self.browser.wait_for(
            "document.querySelector('#post_items [aria-live] b')"
            ".textContent.startsWith('201')"
        )
        self.assertIn('"unitNumber": 0', self.text("#post_items pre"))
        self.click("#get_items_id summary")
        self.fill("#get_items_id input", "0")
        self.click("#get_items_id button")
        self.browser.wait_for(
            "document.querySelector('#get_items_id [aria-live] b')"
            ".textContent.startsWith('200')"
        )
        self.click("#get_files_path summary")
        self.fill("#get_files_path input", "a b/c")
        self.click("#get_files_path button")
        self.browser.wait_for(
            "document.querySelector('#get_files_path pre')"
            ".textContent === 'a b/c'"
        )
        self.click("#get_search summary")
        self.fill("#get_search [name=text]", "x")
        self.fill("#get_search [name=colors]", "red,green")
        self.click("#get_search button")
        self.browser.wait_for(
            "JSON.stringify(JSON.parse(document.querySelector('#get_search pre')"
            ".textContent)) === '[\"red\",\"green\"]'"
        )
        self.click("#post_orders summary")
        self.fill("#post_orders textarea", '{"name": "a&b", "count": 2}')
        self.click("#post_orders button")
        self.browser.wait_for(
            "document.querySelector('#post_orders pre')"
            ".textContent === 'a&b x 2'"
        )

    def test_it_shows_who_asks(self):
        self.open("#delete_items_id")
        self.fill("#delete_items_id input", "1")
        self.browser.wait_for(
            "(() => { const input = document.querySelector("
            "'#bar input[type=password]'); input.value = 's3cret';"
            " input.dispatchEvent(new Event('input')); return true; })()"
        )
        self.click("#delete_items_id button")
        self.browser.wait_for(
            "document.querySelector('#delete_items_id [aria-live] b')"
            ".textContent.startsWith('204')"
        )

    def test_the_keyboard_opens_an_operation(self):
        self.open()
        self.browser.wait_for(
            "(document.querySelector('#get_items summary').focus(), true)"
        )
        self.browser.press("Enter", 13, "\r")
        self.browser.wait_for("document.querySelector('#get_items').open")
        self.browser.wait_for("location.hash === '#get_items'")
        self.browser.press("Tab", 9)
        self.browser.wait_for(
            "document.activeElement.closest('#get_items form') !== null"
        )

    def test_the_filter_hides_the_others(self):
        self.open()
        self.browser.wait_for(
            "(document.querySelector('#filter').focus(), true)"
        )
        self.browser.type("orders")
        self.browser.wait_for(
            "[...document.querySelectorAll('.op')].filter("
            "(box) => box.checkVisibility()).length === 1"
        )

    def test_it_fits_a_phone_in_light_and_dark(self):
        colors = set()
        for scheme in ("light", "dark"):
            # A page is not loaded again for another fragment.
            self.browser.open("about:blank")
            self.browser.emulate(360, scheme)
            self.open("#post_items")
            self.browser.wait_for(
                "document.querySelector('#post_items textarea') !== null"
            )
            self.assertEqual(
                self.browser.wait_for(
                    "(({scrollWidth, clientWidth}) => [scrollWidth -"
                    " clientWidth])(document.documentElement)"
                ),
                [0],
            )
            colors.add(
                self.browser.wait_for(
                    "getComputedStyle(document.body).backgroundColor"
                )
            )
        self.assertEqual(len(colors), 2)

    def test_every_input_has_a_label(self):
        self.open("#post_items")
        self.browser.wait_for(
            "[...document.querySelectorAll('.op')].every("
            "(box) => { box.open = true; return true; })"
        )
        self.browser.wait_for(
            "document.querySelectorAll('.op form').length === 11"
        )
        self.assertEqual(
            self.browser.wait_for(
                "[...document.querySelectorAll('input, select, textarea')]"
                ".filter((field) => field.labels.length !== 1).length + 1"
            ),
            1,
        )


if __name__ == "__main__":
    unittest.main()
