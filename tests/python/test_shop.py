"""Buys from the shop of `make serve-shop`, on SQLite and on PostgreSQL."""

import http.client
import json
import os
import re
import secrets
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import (  # noqa: E402
    await_port,
    free_ports,
    has_no_browser_package,
)
from loopback.subject import ROOT, build  # noqa: E402
from postgres import cluster as clusters  # noqa: E402
from site_browser import Browser  # noqa: E402

SOURCE = ROOT / "examples" / "shop" / "main.mojo"
SECONDS_MAX = 60
CLIENTS = 16
UMBRELLA, FISH = 4, 2


def setUpModule():
    build(SOURCE)


class Answer:
    """Is a response that was read to its end."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()
        cookies = response.headers.get_all("Set-Cookie") or []
        self.cookie = cookies[0].partition(";")[0] if cookies else None


class Shop:
    """Is one process of the shop."""

    def __init__(self, location):
        (self.port,) = free_ports(1)
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [build(SOURCE), "--database", location, "--port", str(self.port)],
            stderr=self.log,
        )
        await_port(self.port, self.process)

    def ask(self, method, path, content=None, **headers):
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=SECONDS_MAX
        )
        try:
            if isinstance(content, str):
                kind = "application/x-www-form-urlencoded"
            elif content is not None:
                content, kind = json.dumps(content), "application/json"
            if content is not None:
                headers["Content-Type"] = kind
            names = {x.replace("_", "-"): y for x, y in headers.items()}
            connection.request(method, path, content, names)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def post(self, path, cookie="", headers=None, **fields):
        return self.ask(
            "POST", path, urlencode(fields), Cookie=cookie, **(headers or {})
        )

    def order(self, product, quantity=1, key=None, **changed):
        return self.ask(
            "POST",
            "/api/orders",
            {
                "key": key or secrets.token_hex(16),
                "name": "Ann",
                "address": "1 Road",
                "lines": [{"product": product, "quantity": quantity}],
                **changed,
            },
        )

    def stock(self, product):
        answer = self.ask("GET", f"/api/products/{product}")
        return json.loads(answer.text)["stock"]

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(SECONDS_MAX)
        self.log.close()
        return code


class Cases:
    """What holds on both databases."""

    def start(self):
        shop = Shop(self.location)
        self.addCleanup(shop.process.kill)
        return shop

    def test_a_customer_orders_with_the_pages_alone(self):
        shop = self.start()
        home = shop.ask("GET", "/")
        self.assertEqual(home.status, 200)
        self.assertIn("Fish &amp; chips for two", home.text)
        self.assertIn("18.90", home.text)
        added = shop.post("/cart/add", product=FISH, quantity=2)
        self.assertEqual(added.status, 303)
        self.assertEqual(added.cookie, "cart=2x2")
        added = shop.post(
            "/cart/add", added.cookie, product=FISH, quantity=1
        )
        self.assertEqual(added.cookie, "cart=2x3")
        added = shop.post("/cart/add", added.cookie, product=1, quantity=1)
        changed = shop.post(
            "/cart/set", added.cookie, product=1, quantity=0
        )
        self.assertEqual(changed.cookie, "cart=2x3")
        cart = shop.ask("GET", "/cart", Cookie=changed.cookie)
        self.assertIn("56.70", cart.text)
        key = re.search(r'name="key" value="([0-9a-f]{32})"', cart.text)[1]
        sent = {"key": key, "name": "<b>Ann</b>", "address": 'A "&" B'}
        for cookie in (changed.cookie, changed.cookie, "cart="):
            # Also if the browser sends it again.
            ordered = shop.post("/orders", cookie, **sent)
            self.assertEqual(ordered.status, 303)
            self.assertEqual(ordered.headers["Location"], f"/orders/{key}")
            self.assertEqual(ordered.cookie, "cart=")
        page = shop.ask("GET", f"/orders/{key}")
        self.assertIn("&lt;b&gt;Ann&lt;/b&gt;", page.text)
        self.assertNotIn("<b>", page.text)
        self.assertIn("56.70", page.text)
        self.assertEqual(page.headers["Cache-Control"], "no-store")
        self.assertEqual(shop.stock(FISH), 27)
        order = json.loads(shop.ask("GET", f"/api/orders/{key}").text)
        self.assertEqual(order["cents"], 5670)
        self.assertEqual(order["name"], "<b>Ann</b>")
        self.assertEqual(shop.stop(), 0)

    def test_names_of_products_are_escaped(self):
        shop = self.start()
        self.run_sql(
            "INSERT INTO products VALUES (9, '<script>x</script>''\"', 1, 1)"
        )
        for path in ("/", "/cart"):
            text = shop.ask("GET", path, Cookie="cart=9x1").text
            self.assertIn("&lt;script&gt;", text)
            self.assertNotIn("<script", text)
        self.assertEqual(shop.stop(), 0)

    def test_each_answer_is_secured(self):
        shop = self.start()
        policy = "default-src 'none'; style-src 'self'; form-action 'self'"
        for path in ("/", "/cart", "/nothing", "/api/products", "/style.css"):
            answer = shop.ask("GET", path)
            self.assertIn(policy, answer.headers["Content-Security-Policy"])
            self.assertEqual(answer.headers["X-Frame-Options"], "DENY")
            for outside in ("http:", "https:", "//", "<script", "style="):
                self.assertNotIn(outside, answer.text)
        answer = shop.post("/cart/add", product=1, quantity=1)
        cookie = answer.headers["Set-Cookie"]
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Lax", cookie)
        host = f"http://127.0.0.1:{shop.port}"
        rows = [
            ({"Sec_Fetch_Site": "cross-site"}, 403),
            ({"Sec_Fetch_Site": "same-site"}, 403),
            ({"Origin": "http://other.test"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": host}, 303),
            ({"Sec_Fetch_Site": "same-origin", "Origin": host}, 303),
        ]
        for headers, status in rows:
            with self.subTest(headers):
                answer = shop.post(
                    "/cart/add", headers=headers, product=1, quantity=1
                )
                self.assertEqual(answer.status, status)
                self.assertIn(
                    policy, answer.headers["Content-Security-Policy"]
                )
        self.assertEqual(shop.stop(), 0)

    def test_what_no_form_sends_is_refused(self):
        shop = self.start()
        for quantity in (-1, 100, 1 << 70):
            for path in ("/cart/add", "/cart/set"):
                answer = shop.post(path, product=1, quantity=quantity)
                self.assertIn(answer.status, (400, 422), quantity)
            answer = shop.order(1, quantity)
            self.assertEqual(answer.status, 422, quantity)
        self.assertEqual(shop.order(1, 0).status, 422)
        self.assertEqual(shop.order(77).status, 409)
        self.assertEqual(shop.order(1, key="g" * 32).status, 422)
        self.assertEqual(shop.order(1, key="0" * 31).status, 422)
        self.assertEqual(shop.order(1, name="").status, 422)
        self.assertEqual(shop.order(1, name="a\0b").status, 422)
        self.assertEqual(shop.order(1, address="x" * 201).status, 422)
        self.assertEqual(shop.order(1, lines=[]).status, 422)
        twice = [{"product": 1, "quantity": 1}] * 2
        self.assertEqual(shop.order(1, lines=twice).status, 422)
        self.assertEqual(shop.post("/cart/add", product=1).status, 400)
        # A cart that this shop has not written.
        for cookie in (
            "cart=1x-1", "cart=x", "cart=1x1x1", "cart=99999999999x1",
            "cart=" + ".".join(f"{i}x1" for i in range(500)), "cart=%00",
            "cart=1x99999999", "cart=....", "cart=8x1",
        ):
            answer = shop.ask("GET", "/cart", Cookie=cookie)
            self.assertEqual(answer.status, 200, cookie)
            self.assertNotIn("-", re.findall(r"Total: <strong>(.*?)<", answer.text))
        # An order with a key, a name or a cart that cannot be.
        good = {"key": secrets.token_hex(16), "name": "a", "address": "b"}
        for changed in (
            {"key": ""}, {"key": "\0" * 32}, {"name": ""}, {"name": "\0"},
            {"address": "x" * 300},
        ):
            answer = shop.post("/orders", "cart=1x1", **{**good, **changed})
            self.assertIn(answer.status, (400, 409), changed)
        self.assertEqual(shop.post("/orders", "", **good).status, 409)
        self.assertEqual(shop.ask("GET", "/orders/" + "0" * 32).status, 404)
        # The name is no UTF-8.
        shop.post("/orders", "cart=3x1", **{**good, "name": b"\xff"})
        page = shop.ask("GET", f"/orders/{good['key']}")
        self.assertIn("For \ufffd, b", page.text)
        self.assertEqual(shop.stock(1), 12)
        self.assertEqual(shop.stop(), 0)

    def test_the_last_item_is_sold_once(self):
        shop = self.start()
        with ThreadPoolExecutor(CLIENTS) as pool:
            found = list(
                pool.map(lambda _: shop.order(UMBRELLA).status, range(CLIENTS))
            )
        self.assertEqual(sorted(found), [201] + [409] * (CLIENTS - 1))
        self.assertEqual(shop.stock(UMBRELLA), 0)
        self.assertEqual(shop.stop(), 0)

    def test_stock_is_never_oversold(self):
        shop = self.start()

        def buy(i):
            # In both orders: no two of them wait for each other.
            lines = [
                {"product": FISH, "quantity": 2},
                {"product": 3, "quantity": 1},
                {"product": 1, "quantity": 1},
            ]
            lines = lines[i % 3 :] if i % 2 else lines[::-1]
            answer = shop.order(1, lines=lines)
            return answer.status, lines

        with ThreadPoolExecutor(CLIENTS) as pool:
            found = list(pool.map(buy, range(100)))
        self.assertEqual({x for x, _ in found}, {201, 409})
        sold = {1: 0, FISH: 0, 3: 0}
        for status, lines in found:
            for line in lines if status == 201 else ():
                sold[line["product"]] += line["quantity"]
        self.assertEqual(
            sold, {1: 12 - shop.stock(1), FISH: 30 - shop.stock(FISH),
                   3: 3 - shop.stock(3)},
        )  # fmt: skip
        self.assertEqual(shop.stock(3), 0)
        self.assertEqual(shop.stop(), 0)

    def test_an_order_that_is_sent_twice_happens_once(self):
        shop = self.start()
        key = secrets.token_hex(16)
        with ThreadPoolExecutor(CLIENTS) as pool:
            found = set(
                pool.map(
                    lambda _: shop.order(FISH, 2, key).status, range(CLIENTS)
                )
            )
        self.assertEqual(found, {201})
        self.assertEqual(shop.stock(FISH), 28)
        self.assertEqual(shop.stop(), 0)

    def test_a_killed_shop_loses_no_order_that_it_has_confirmed(self):
        confirmed = []
        for _ in range(4):
            shop = self.start()
            self.run_sql(f"UPDATE products SET stock = 100000 WHERE id = {FISH}")
            bought = []

            def buy_on():
                while True:
                    key = secrets.token_hex(16)
                    try:
                        answer = shop.order(FISH, key=key)
                    except (OSError, http.client.HTTPException):
                        return
                    if answer.status == 201:
                        bought.append(key)

            threads = [threading.Thread(target=buy_on) for _ in range(4)]
            for thread in threads:
                thread.start()
            end = time.monotonic() + SECONDS_MAX
            while len(bought) < 30 and time.monotonic() < end:
                time.sleep(0.01)
            shop.stop(signal.SIGKILL)
            for thread in threads:
                thread.join(SECONDS_MAX)
            confirmed += bought
        self.assertGreater(len(confirmed), 100)
        shop = self.start()
        for key in confirmed:
            order = shop.ask("GET", f"/api/orders/{key}")
            self.assertEqual(order.status, 200)
            self.assertEqual(json.loads(order.text)["cents"], 1890)
        # No order is half there.
        self.run_sql(
            "INSERT INTO products SELECT 50, 'broken', 1, count(*) FROM orders"
            " WHERE key NOT IN (SELECT order_key FROM lines)"
        )
        self.assertEqual(shop.stock(50), 0)
        self.assertEqual(shop.stop(), 0)


class OnSqlite(Cases, unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.location = os.path.join(folder.name, "shop.db")

    def run_sql(self, statement):
        connection = sqlite3.connect(self.location)
        try:
            connection.execute(statement)
            connection.commit()
        finally:
            connection.close()


    @unittest.skipIf(
        has_no_browser_package(), "this system has no package of the browser"
    )
    def test_a_browser_on_a_phone_orders_with_the_keyboard_alone(self):
        shop = self.start()
        # As in a local network: without TLS, and under no loopback name, a
        # browser sends no Sec-Fetch-Site.
        for host in ("localhost", "shop.test"):
            with self.subTest(host):
                self.order_in_a_browser(f"http://{host}:{shop.port}")
        self.assertEqual(shop.stock(1), 10)
        self.assertEqual(shop.stop(), 0)

    def order_in_a_browser(self, site):
        browser = Browser(
            "--window-size=360,640",
            "--host-resolver-rules=MAP shop.test 127.0.0.1",
            "--proxy-bypass-list=shop.test",
        )
        self.addCleanup(browser.close)
        browser.open(f"{site}/")
        for title, texts in (
            ("Products", {"quantity": ""}),
            ("Cart", {"name": "Ann & <i>Bob</i>", "address": "1 Road"}),
        ):
            self.see(browser, title)
            for name, text in texts.items():
                browser.wait_for(
                    f"document.querySelector('input[name={name}]').focus()"
                    " ?? true"
                )
                browser.type(text)
            browser.type("\r")
        self.see(browser, "Thank you for your order")
        browser.wait_for('document.body.innerText.includes("<i>Bob</i>, 1 R")')
        self.assertEqual(browser.trap.asked, [])
        for url in browser.requests:
            self.assertTrue(url.startswith(f"{site}/"), url)

    def see(self, browser, title):
        browser.wait_for(f"document.title === {json.dumps(title)}")
        # No page is wider than the window.
        browser.wait_for(
            "innerWidth === 360 && document.body.scrollWidth <= 360"
            " && getComputedStyle(document.body).maxWidth !== 'none'"
        )


class OnPostgres(Cases, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = clusters.start(cls.addClassCleanup)

    def setUp(self):
        self.database = self.id().rpartition(".")[2].lower()[:60]
        self.cluster.psql(f"CREATE DATABASE {self.database}")
        self.location = self.cluster.url(self.database)

    def run_sql(self, statement):
        self.cluster.psql(statement, self.database)


if __name__ == "__main__":
    unittest.main()
