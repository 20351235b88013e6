"""Puts the routes together, and the middleware around them."""

from flare.http import (
    AddHeader,
    AllowOnly,
    CacheRule,
    CrossOriginProtection,
    Health,
    HealthCheck,
    MetricsPage,
    SecurityHeaders,
    StaticFiles,
    StatusPage,
)
from flare.metrics import Metrics
from flare.prelude import *
from flare.session import (
    Session,
    SessionConfig,
    Sessions,
    SqliteSessions,
)

from live import watch
from notes import change_note, list_notes, read_note, write_note
from pages import notes_page, sign_in_page
from people import Visit, guarded_sign_in, sign_out
from pictures import delete_note, show_picture, store_picture
from services import Common, Services, database_of, open_services

# The page may load its own files only, and nothing may frame it.
comptime POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)


def home(session: Session[Visit]) raises -> Response:
    if session[].person:
        return notes_page(session[].person.value())
    return sign_in_page("", "")


def database_answers(req: Request) raises:
    _ = database_of(req)[].query_one[Int]("SELECT 1")


def routes(static: String, metrics: Metrics) raises -> Router[Services]:
    var router = Router[Services]()
    router.get("/", home)
    router.post("/sign-in", guarded_sign_in())
    router.post("/sign-out", sign_out)
    router.get("/api/notes", list_notes)
    router.post("/api/notes", write_note)
    router.get("/api/notes/:id", read_note)
    router.put("/api/notes/:id", change_note)
    router.delete("/api/notes/:id", delete_note)
    router.put("/api/notes/:id/picture", store_picture)
    router.get("/api/changes", watch)
    router.get("/pictures/:name", show_picture)
    router.get(
        "/static/*path",
        StaticFiles(static, cache_control=[CacheRule("*", "no-cache")]),
    )
    router.get("/-/metrics", AllowOnly(MetricsPage(metrics)))
    router.get("/-/flare", StatusPage(metrics))
    return router^


def serve(
    server: HttpServer,
    var router: Router[Services],
    common: Common,
    *,
    workers: Int,
    secure: Bool,
) raises:
    """Serves until the server is stopped. With `secure`, browsers send the
    cookie of the session over TLS only."""
    var sessions = Sessions[Visit](
        CrossOriginProtection(router^),
        SqliteSessions(database_of),
        SessionConfig(secure=secure),
    )
    var healthy = Health(
        sessions^, ready=[HealthCheck("database", database_answers)]
    )
    var secured = AddHeader(
        SecurityHeaders(healthy^),
        name="Content-Security-Policy",
        value=POLICY,
    )
    server.serve(
        App.per_worker[open_services](common.copy(), secured^),
        num_workers=workers,
    )
