# Run: mojo run -I . examples/45_broadcast.mojo
# Prints: 1 is slow: missed 3, then event 4, event 5
# Prints: 2 event 1, event 2, event 3, event 4, event 5
"""Sends values to several fibers, of which one is slow."""

from flare.prelude import *
from flare.runtime import Broadcast


def main() raises:
    var news = Broadcast[String]()
    var slow = news.subscribe(queue_max=2)
    var quick = news.subscribe()
    for i in range(1, 6):
        # No send waits; any thread may send.
        news.send(String("event ", i))
    news.close()
    print("1 is slow: missed ", slow.missed(), ", then ", sep="", end="")
    var texts = List[String]()
    while True:
        var text = slow.next()
        if not text:
            break
        texts.append(text.take())
    print(StaticString(", ").join(texts))
    texts = List[String]()
    while True:
        var text = quick.next()
        if not text:
            break
        texts.append(text.take())
    print("2", StaticString(", ").join(texts))
