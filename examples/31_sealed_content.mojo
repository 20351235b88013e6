# Run: mojo run -I . examples/31_sealed_content.mojo
# Prints: 200 application/json 150001
# Prints: 1, 1, 1
# Prints: 150001 octets are shared by all who answer with them
"""Answers with content that is made once and sent without being copied."""

from flare.http import SealedContent
from flare.prelude import *
from flare.testing import TestClient


@fieldwise_init
struct Pages(Copyable):
    # Copies refer to the same octets, so that all workers share them.
    var catalogue: SealedContent


def catalogue(pages: State[Pages]) raises -> Response:
    return ok_json(pages[].catalogue)


def start(pages: State[Pages]) raises -> Response:
    # A part refers to the same octets.
    return ok(pages[].catalogue[1:8])


def main() raises:
    var numbers = List[String](length=50_000, fill="1")
    var content = SealedContent(
        String("[", StaticString(", ").join(numbers), " ]")
    )
    var router = Router[Pages]()
    router.get[catalogue]("/catalogue")
    router.get[start]("/start")
    var client = TestClient(App(state=Pages(content), handler=router^))
    var response = client.get("/catalogue")
    print(
        response.status,
        response.headers.get("Content-Type").value(),
        len(response.body),
    )
    print(client.get("/start").body.text())
    print(len(content), "octets are shared by all who answer with them")
