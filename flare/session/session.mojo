"""Provides the session of a request to handlers."""

from flare.core import Erased, PointerTo
from flare.http import Extractor, Request, RequestValue
from flare.json import FromJson, ToJson, decode, dumps

from .record import SessionRecord

comptime SessionData = Defaultable & FromJson & ToJson
"""A struct that can be the data of a session: it has a value for new sessions,
and is kept as JSON."""


struct SessionEntry(Movable):
    """The session of a request, apart from the data."""

    var cookie: String
    """The value of the cookie that has led to the session; empty if none has.
    """
    var record: SessionRecord
    """The record that was found. The data of a new session are those of its default
    value."""
    var is_asked: Bool
    """Whether a handler has asked for the session."""
    var is_kept: Bool
    """Whether it was found."""
    var is_renewed: Bool
    """Whether it needs a new id."""
    var is_destroyed: Bool
    """Whether the record that was found must be deleted."""

    def __init__(out self):
        """Creates an entry of a request that has not asked yet."""
        self.cookie = String()
        self.record = SessionRecord(String(), 0, 0)
        self.is_asked = False
        self.is_kept = False
        self.is_renewed = False
        self.is_destroyed = False


comptime FindFunction = def(Erased, Request) raises thin -> SessionEntry
"""Finds the session of a request, by the middleware at an address."""


struct SessionState[T: SessionData](Movable):
    """The session of a request, which lives until the response is sent.

    Parameters:
        T: The type of the data.
    """

    var entry: SessionEntry
    """The record and its state."""
    var value: Optional[Self.T]
    """The data, once a handler has asked."""
    var _middleware: Erased
    var _find: FindFunction

    def __init__(out self, middleware: Erased, find: FindFunction):
        """Creates the session of a request.

        Args:
            middleware: The argument of `find`, which outlives the request.
            find: Finds the session.
        """
        self.entry = SessionEntry()
        self.value = None
        self._middleware = middleware
        self._find = find

    @staticmethod
    def ask(state: PointerTo[Self], req: Request) raises:
        """Finds the session the first time that a handler asks for it.

        Args:
            state: The session.
            req: The request.

        Raises:
            Error: If the store cannot be asked.
        """
        if state[].entry.is_asked:
            return
        var entry = state[]._find(state[]._middleware, req)
        # Another fiber of the handler may have asked meanwhile.
        if state[].entry.is_asked:
            return
        entry.is_asked = True
        var value = Optional[Self.T](None)
        if entry.is_kept:
            try:
                value = decode[Self.T](entry.record.data)
            except:
                # An earlier version of the program has kept other fields.
                entry.is_kept = False
        if not value:
            value = Self.T()
            entry.record = SessionRecord(dumps(value.value()), 0, 0)
        state[].value = value^
        state[].entry = entry^


struct Session[T: SessionData](Extractor, ImplicitlyCopyable):
    """The session of the client that has sent a request.

    A handler reads and changes the data in place: `session[].count += 1`. The
    middleware `Sessions` keeps them after the handler has returned, if they
    have changed. A session that was never changed is not kept, and the client
    gets no cookie.

    Parameters:
        T: The type of the data.
    """

    comptime PATH_PARAMETERS: Int = 0
    """A `Session` parameter uses no parameter of the route."""

    var _state: PointerTo[SessionState[Self.T]]

    def __init__(out self, *, unsafe_state: PointerTo[SessionState[Self.T]]):
        """Creates a reference to a session.

        Args:
            unsafe_state: The session, for which a handler has asked.

        Safety:
            The session outlives the reference.
        """
        self._state = unsafe_state

    @always_inline
    def __getitem__(self) -> ref[MutUntrackedOrigin] Self.T:
        """Returns the data: `session[].count += 1`.

        Returns:
            The data. Changes are kept until the handler returns; the function
            of a stream can only read them.
        """
        return self._state[].value.unsafe_value()

    def is_new(self) -> Bool:
        """Returns whether the session begins with this request.

        Returns:
            True if the client has sent no cookie of a session that exists.
        """
        return not self._state[].entry.is_kept

    def renew(self):
        """Replaces the id of the session, and makes the old one useless.

        Call it whenever the rights of the client change, as after a sign-in.
        Otherwise, an attacker who has given the client an id could use the
        session after the sign-in (session fixation).
        """
        self._state[].entry.is_renewed = True

    def destroy(self):
        """Forgets the session, as after a sign-out. The data are those of a new
        session again. Changes after that begin another session.
        """
        self._state[].entry.is_destroyed = True
        self._state[].value = Self.T()

    @staticmethod
    def of(req: Request) raises -> Self:
        """Returns the session, in a plain handler. It is read from its store
        when a handler first asks for it.

        Args:
            req: The request being answered.

        Returns:
            A reference to the session.

        Raises:
            An error `session.no_middleware` if no `Sessions` of this type is
            around the handler, and the errors of the store. The answer is then
            a 500.
        """
        var found = RequestValue[SessionState[Self.T]].find(req)
        if not found:
            raise Error(
                "session.no_middleware no Sessions around the handler has ",
                reflect[Self.T].name(),
            )
        var state = PointerTo[SessionState[Self.T]](
            unsafe_from_address=Int(Pointer(to=found.value()[]))
        )
        SessionState[Self.T].ask(state, req)
        return Self(unsafe_state=state)

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Returns the session.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            A reference to the session.

        Raises:
            The errors of `of`.
        """
        return Self.of(req)
