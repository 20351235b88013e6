"""Holds what the handlers of one worker share."""

from flare.postgres import Database

from dataset import Dataset, read_dataset
from options import Options


struct Arena(Movable):
    """Is the data set and the database of one worker."""

    var dataset: Dataset
    # None if the program was told of no database.
    var database: Optional[Database]

    def __init__(out self, options: Options) raises:
        self.dataset = read_dataset(options.data)
        self.database = None
        if options.database != "":
            self.database = Database(
                options.database,
                options.database_options(),
                workers=options.workers,
            )


def make_arena(worker: Int) raises -> Arena:
    """Makes the state of a worker. Each reads its own data set, so that no count
    of references is shared between cores."""
    return Arena(Options.of_arguments())
