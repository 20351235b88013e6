"""Keeps the JSON of items for a moment, for all workers."""

from std.time import perf_counter_ns

from flare.http import Shared

comptime _SHARDS = 64
comptime _KEPT_NS = 200_000_000
# 64 shards of as many items hold all that the benchmark asks for.
comptime _ITEMS_PER_SHARD_MAX = 4_096


@fieldwise_init
struct _Kept(Copyable):
    var text: String
    var until_ns: Int


struct ItemCache(Copyable):
    """Is texts by number, each in the shard of its number."""

    var _shards: List[Shared[Dict[Int, _Kept]]]

    def __init__(out self):
        self._shards = []
        for _ in range(_SHARDS):
            self._shards.append(Shared(Dict[Int, _Kept]()))

    def get(self, id: Int) raises -> Optional[String]:
        """Returns the text of an item, if it is not too old."""

        def find(
            mut kept: Dict[Int, _Kept]
        ) raises {var id} -> Optional[String]:
            var found = kept.get(id)
            if not found or found.value().until_ns < _now_ns():
                return None
            return found.value().text

        return self._shards[id % _SHARDS].update(find)

    def set(self, id: Int, text: String) raises:
        """Keeps the text of an item."""

        def keep(mut kept: Dict[Int, _Kept]) raises {var id, var text}:
            if len(kept) >= _ITEMS_PER_SHARD_MAX:
                kept.clear()
            kept[id] = _Kept(text, _now_ns() + _KEPT_NS)

        self._shards[id % _SHARDS].update(keep)

    def remove(self, id: Int) raises:
        """Forgets an item that has changed."""

        def forget(mut kept: Dict[Int, _Kept]) raises {var id}:
            if id in kept:
                _ = kept.pop(id)

        self._shards[id % _SHARDS].update(forget)


def _now_ns() -> Int:
    return Int(perf_counter_ns())
