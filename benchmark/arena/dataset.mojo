"""Holds the items of the data set."""

from std.memory import ArcPointer

from flare.json import FromJson, JsonReader, JsonWriter, ToJson, decode


@fieldwise_init
struct Rating(Copyable, FromJson, ToJson):
    """Is what customers thought of an item."""

    var score: Int
    var count: Int


@fieldwise_init
struct Tags(Copyable, FromJson, ToJson):
    """Is a list of texts that all copies share: to copy it allocates nothing.
    """

    var texts: ArcPointer[List[String]]

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        return Self(ArcPointer(List[String].from_json(json)))

    def to_json(self, json: JsonWriter) raises:
        self.texts[].to_json(json)


@fieldwise_init
struct Item(Copyable, FromJson):
    """Is an item as the file has it."""

    var id: Int
    var name: String
    var category: String
    var price: Int
    var quantity: Int
    var active: Bool
    var tags: Tags
    var rating: Rating


@fieldwise_init
struct Dataset(Movable):
    """Holds all items."""

    var items: List[Item]


def read_dataset(folder: String) raises -> Dataset:
    """Reads the file of the data set.

    Args:
        folder: The folder that it lies in.

    Returns:
        The data set.
    """
    with open(folder + "/dataset.json", "r") as file:
        return Dataset(decode[List[Item]](file.read()))
