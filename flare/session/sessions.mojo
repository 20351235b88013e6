"""Provides sessions to handlers, and keeps their changes."""

from std.memory import ArcPointer

from flare.core import Erased, PointerTo
from flare.http import Cookie, Handler, Request, RequestValue, Response
from flare.http.error_answer import may_be_discarded
from flare.http.middleware.vary import add_to_vary
from flare.json import dumps
from flare.message import HeaderMap
from flare.sys.clock import unix_seconds

from .dropping import drop_for_certain
from .keeping import SessionKeeping
from .protection import SAME_NAME_MAX
from .record import SessionConfig, SessionRecord
from .session import SessionData, SessionEntry, SessionState

# A session that is only read is extended once in a tenth of its idle time.
comptime _EXTENSIONS = 10


struct _Shared[K: SessionKeeping](Movable):
    var keeping: Self.K
    var config: SessionConfig
    var cookie_name: String

    def __init__(out self, var keeping: Self.K, var config: SessionConfig):
        self.keeping = keeping^
        self.cookie_name = config.cookie_name()
        self.config = config^


struct Sessions[T: SessionData, H: Handler, K: SessionKeeping](Handler):
    """Provides sessions to the handlers within it: `Session[T]`.

    - A session is looked up when a handler asks for it, and kept after the
      handler has returned, if its data have changed.
    - An id that the program has not given out leads nowhere. So a client gets
      no session under an id that someone else has chosen.
    - If the handler raises, changes are dropped. But a session that was
      destroyed is.
    - The answer of a handler that has asked for its session has `Vary: Cookie`,
      and `Cache-Control: private` if it has no Cache-Control.
    - Of requests at the same time, the last one wins as a whole. It does not
      bring a session back that another one has destroyed.

    Parameters:
        T: The type of the data.
        H: The type of the inner handler.
        K: The type of the place for sessions.
    """

    var inner: Self.H
    """The inner handler."""
    # One for all workers. It outlives the requests, so they need no count.
    var _shared: ArcPointer[_Shared[Self.K]]

    def __init__(
        out self,
        var inner: Self.H,
        var keeping: Self.K,
        var config: SessionConfig = SessionConfig(),
    ) raises:
        """Creates middleware for sessions: `Sessions[Visit](router^, …)`.

        Args:
            inner: The inner handler.
            keeping: The place for sessions: `CookieSessions`, or a store such
                as `MemorySessions`.
            config: Names and times.

        Raises:
            Error: `session.bad_config` with the field that is out of its
                bounds, and `message.bad_cookie` for a name that is no token.
        """
        var problem = config.first_problem()
        if problem:
            raise Error("session.bad_config ", problem.value())
        _ = _cookie(config, config.cookie_name(), String(), 0).to_set_cookie()
        self.inner = inner^
        self._shared = ArcPointer(_Shared(keeping^, config^))

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response, with the cookie of the session
        if that has changed.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler, the errors of the store,
            `session.too_large`, and `message.headers_too_large`.
        """
        var shared = PointerTo[_Shared[Self.K]](
            unsafe_from_address=Int(self._shared.ptr())
        )
        req.set(
            SessionState[Self.T](
                shared.unsafe_bitcast[NoneType](), _find[Self.K]
            )
        )
        var state = PointerTo[SessionState[Self.T]](
            unsafe_from_address=Int(
                Pointer(to=RequestValue[SessionState[Self.T]].of(req)[])
            )
        )
        var response: Response
        try:
            response = self.inner.serve(req)
        except e:
            if state[].entry.is_asked:
                _end_after_error(shared, req, state)
            raise e^
        if state[].entry.is_asked:
            _end(shared, req, state, response)
        return response^


def _find[
    K: SessionKeeping
](middleware: Erased, req: Request) raises -> SessionEntry:
    var shared = middleware.unsafe_bitcast[_Shared[K]]()
    var entry = SessionEntry()
    var now_seconds = unix_seconds()
    var tried = 0
    for cookie in req.cookies():
        if cookie.name != shared[].cookie_name:
            continue
        # Without a prefix, another host of the site can add cookies.
        if tried == SAME_NAME_MAX:
            break
        tried += 1
        var record = shared[].keeping.find(
            req, shared[].cookie_name, cookie.value
        )
        if record and shared[].config.is_alive(record.value(), now_seconds):
            entry.cookie = String(cookie.value)
            entry.record = record.take()
            entry.is_kept = True
            break
    return entry^


@no_inline
def _end[
    T: SessionData, K: SessionKeeping
](
    shared: PointerTo[_Shared[K]],
    req: Request,
    state: PointerTo[SessionState[T]],
    mut response: Response,
) raises:
    var data = dumps(state[].value.value())
    if state[].entry.is_destroyed:
        # Later changes begin another session.
        _forget(shared, req, state)
        state[].entry.record = SessionRecord(dumps(T()), 0, 0)
    var field = _keep(
        shared,
        req,
        Pointer(to=state[].entry).unsafe_origin_cast[MutUntrackedOrigin](),
        data^,
    )
    if not field and state[].entry.is_destroyed and _has_cookie(shared, req):
        field = _removal(shared)
    if may_be_discarded(req, response):
        _try_to_add(field, req.error_headers())
    _add(field, response.headers)


@no_inline
def _end_after_error[
    T: SessionData, K: SessionKeeping
](
    shared: PointerTo[_Shared[K]],
    req: Request,
    state: PointerTo[SessionState[T]],
):
    # Neither a store that fails nor a field without room may hide the error.
    try:
        var field = Optional[String](None)
        if state[].entry.is_destroyed:
            _forget(shared, req, state)
            field = _removal(shared)
        _add(field, req.error_headers())
    except:
        return


def _forget[
    T: SessionData, K: SessionKeeping
](
    shared: PointerTo[_Shared[K]],
    req: Request,
    state: PointerTo[SessionState[T]],
) raises:
    if state[].entry.is_kept:
        state[].entry.is_kept = False
        drop_for_certain(
            Pointer(to=shared[].keeping).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
            req,
            state[].entry.cookie,
        )


def _keep[
    K: SessionKeeping
](
    shared: PointerTo[_Shared[K]],
    req: Request,
    entry: PointerTo[SessionEntry],
    var data: String,
) raises -> Optional[String]:
    """Keeps a session as far as it has changed. Returns the Set-Cookie field
    of its new cookie, if there is one."""
    ref name = shared[].cookie_name
    var now_seconds = unix_seconds()
    var has_changed = data != entry[].record.data
    if not entry[].is_kept:
        if not has_changed:
            return None
        var begun = SessionRecord(data^, now_seconds, 0)
        begun.expires_at = shared[].config.expires_at(now_seconds, now_seconds)
        return _field(
            shared,
            shared[].keeping.create(req, name, begun),
            begun,
            now_seconds,
        )
    var created_at = entry[].record.created_at
    var expires_at = shared[].config.expires_at(created_at, now_seconds)
    var gained = expires_at - entry[].record.expires_at
    var record = SessionRecord(data^, created_at, expires_at)
    if has_changed or entry[].is_renewed:
        var change = shared[].keeping.change(
            req, name, entry[].cookie, record, renews=entry[].is_renewed
        )
        if change.is_kept and change.cookie:
            return _field(shared, change.cookie.value(), record, now_seconds)
    elif gained > shared[].config.idle_seconds // _EXTENSIONS:
        var change = shared[].keeping.extend(req, name, entry[].cookie, record)
        if change.cookie:
            return _field(shared, change.cookie.value(), record, now_seconds)
    return None


def _field[
    K: SessionKeeping
](
    shared: PointerTo[_Shared[K]],
    value: String,
    record: SessionRecord,
    now_seconds: Int,
) raises -> Optional[String]:
    ref config = shared[].config
    # The server knows when it was used last; the client need not.
    var max_age = record.created_at + config.absolute_seconds - now_seconds
    return _cookie(config, shared[].cookie_name, value, max_age).to_set_cookie()


def _removal[
    K: SessionKeeping
](shared: PointerTo[_Shared[K]]) raises -> Optional[String]:
    return _cookie(
        shared[].config, shared[].cookie_name, String(), 0
    ).to_set_cookie()


def _cookie(
    config: SessionConfig, name: String, value: String, max_age: Int
) -> Cookie:
    return Cookie(
        name,
        value,
        path="/",
        max_age=max_age,
        secure=config.secure,
        http_only=True,
        same_site=config.same_site,
    )


def _has_cookie[
    K: SessionKeeping
](shared: PointerTo[_Shared[K]], req: Request) -> Bool:
    return Bool(req.cookie(shared[].cookie_name))


def _add(field: Optional[String], mut headers: HeaderMap) raises:
    if field:
        headers.append("Set-Cookie", field.value())
    if "Cache-Control" not in headers:
        headers.append_constant["Cache-Control", "private"]()
    add_to_vary["Cookie"](headers)


def _try_to_add(field: Optional[String], mut headers: HeaderMap):
    try:
        _add(field, headers)
    except:
        return
