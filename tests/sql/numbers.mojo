"""Gives the tests a result of numbers, which counts the values that live."""

from std.memory import ArcPointer

from flare.sql import RowSource


struct Piece(Movable):
    """A number of a result."""

    var number: Int
    var _live: ArcPointer[Int]

    def __init__(out self, number: Int, live: ArcPointer[Int]):
        self.number = number
        self._live = live
        live[] += 1

    def __deinit__(deinit self):
        self._live[] -= 1


struct Numbers(RowSource):
    """A result, row after row."""

    var names: List[String]
    var values: List[Int]
    var live: ArcPointer[Int]

    def __init__(out self, var names: List[String], var values: List[Int]):
        self.names = names^
        self.values = values^
        self.live = ArcPointer(0)

    def row_count(self) -> Int:
        return len(self.values) // len(self.names)

    def column_count(self) -> Int:
        return len(self.names)

    def column_name(self, column: Int) -> String:
        return self.names[column]

    @staticmethod
    def decodes[T: AnyType]() -> Bool:
        return reflect[T].name() == reflect[Piece].name()

    def value[
        T: Deinitable & Movable
    ](self, row: Int, column: Int, field: StaticString) raises -> T:
        var number = self.values[row * len(self.names) + column]
        if number < 0:
            raise Error("negative")
        return rebind_var[T](Piece(number, self.live))

    @staticmethod
    def decode_error(text: StringSlice) -> Error:
        return Error(String(text))

    @staticmethod
    def no_rows() -> Error:
        return Error("no rows")

    @staticmethod
    def too_many_rows() -> Error:
        return Error("too many rows")
