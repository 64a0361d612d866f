"""A display of work that notes what it is told."""

from contextlib import contextmanager


class Seen:
    """Of each work what it is, and how far it has moved."""

    def __init__(self):
        self.told, self.moves, self.closed = [], [], False

    def began(self, work):
        self.told.append((work.name, work.total, work.unit))
        self.moves.append([])

    def moved(self, work):
        self.moves[-1].append(work.done)

    def ended(self, work):
        self.told.append(("end", work.name))

    @contextmanager
    def hidden(self):
        self.told.append("hidden")
        yield

    def close(self):
        self.closed = True

    def moved_to(self) -> dict[tuple, float]:
        """Where the work ended that can be counted, by its name, total and unit."""
        begun = [each for each in self.told if len(each) == 3]
        return {work: moves[-1] for work, moves in zip(begun, self.moves, strict=True) if moves}
