"""Asks with flare's client: PORT CONCURRENCY WARM_UP REQUESTS [BACKEND [h2]]."""

from std.sys import argv

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http import ClientConfig, HttpClient
from flare.runtime import BackendKind, JoinHandle, spawn
from flare.runtime.private_loop import begin_private_loop
from flare.runtime.reactor import ReactorConfig

comptime _ANSWER_OCTETS = 13


def ask(client: PointerTo[HttpClient], left: PointerTo[Int]) raises:
    while left[] > 0:
        left[] -= 1
        var response = client[].get("/plaintext")
        if response.status != 200 or response.text().byte_length() != (
            _ANSWER_OCTETS
        ):
            raise Error("not the answer")


def all(client: PointerTo[HttpClient], concurrency: Int, requests: Int) raises:
    var left = heap_create(requests)
    if concurrency == 1:
        ask(client, left)
    else:
        var askers = List[JoinHandle[NoneType]]()
        for _ in range(concurrency):

            def run() raises {var client, var left}:
                ask(client, left)

            askers.append(spawn(run))
        while len(askers) > 0:
            askers.pop().join()
    heap_destroy(left)


def tell(word: StaticString) raises:
    print(word, flush=True)
    try:
        _ = input()
    except:
        # Nobody goes on.
        pass


def main() raises:
    var words = argv()
    if len(words) > 5 and words[5] == "epoll":
        _ = begin_private_loop(ReactorConfig(backend=BackendKind.EPOLL))
    var concurrency = Int(words[2])
    var config = ClientConfig(
        http2_prior_knowledge=len(words) > 6 and words[6] == "h2"
    )
    var client = heap_create(
        HttpClient(String("http://127.0.0.1:", words[1]), config=config^)
    )
    all(client, concurrency, Int(words[3]))
    tell("ready")
    all(client, concurrency, Int(words[4]))
    tell("done")
    heap_destroy(client)
