"""Must not build: each line below an `# error:` is refused where it stands.

The comments hold the beginning of what the compiler says about the next line.
All of it is found while the program is read, before any code is made.
"""

from flare.http import App, HttpServer, Path, Request, Response, Router, ok
from flare.net import SocketAddr
from flare.testing import TestClient


@fieldwise_init
struct Item(Copyable):
    var price: Int


@fieldwise_init
struct Connection(Movable):
    var number: Int


@fieldwise_init
struct Greeter:
    var name: String

    def serve(self, req: Request) raises -> Response:
        return ok(self.name)


def hello(req: Request) raises -> Response:
    return ok("hello")


def answers_nothing(req: Request) raises:
    print(req.path)


def answers_a_number(id: Path[Int]) raises -> Int:
    return id.value


def answers_a_list(req: Request) raises -> List[Item]:
    return [Item(1)]


def answers_perhaps(req: Request) raises -> Optional[String]:
    return None


def takes_a_number(id: Int) raises -> Response:
    return ok(String(id))


def takes_a_struct(item: Item) raises -> String:
    return String(item.price)


def takes_a_text_too(req: Request, name: String) raises -> Response:
    return ok(name)


def changes_the_request(mut req: Request) raises -> Response:
    return ok("changed")


def takes_six(
    a: Path[Int],
    b: Path[Int],
    c: Path[Int],
    d: Path[Int],
    e: Path[Int],
    f: Path[Int],
) raises -> Response:
    return ok("six")


def takes_a_name(name: Path[String]) raises -> String:
    return name.value


def reads_what_is_not_there(req: Request) raises -> Response:
    # error: a request has method, path, query,
    return ok(req.args)


def reads(req: Request) -> Response:
    # error: cannot call function that may raise in a context that cannot raise
    return ok(req.text())


def routes() raises:
    var router = Router()
    # error: the result of a handler is a Response, String, Json[T] or a type
    router.get("/", answers_nothing)
    # error: the result of a handler is a Response, String, Json[T] or a type
    router.get("/:id", answers_a_number)
    # error: the result of a handler is a Response, String, Json[T] or a type
    router.get("/", answers_a_list)
    # error: the result of a handler is a Response, String, Json[T] or a type
    router.get("/", answers_perhaps)
    # error: a handler is 'def name(req: Request) raises -> Response'
    router.get("/:id", takes_a_number)
    # error: a handler is 'def name(req: Request) raises -> Response'
    router.post("/", takes_a_struct)
    # error: a handler is 'def name(req: Request) raises -> Response'
    router.get("/", takes_a_text_too)
    # error: a handler is 'def name(req: Request) raises -> Response'
    router.get("/", changes_the_request)
    # error: a handler is 'def name(req: Request) raises -> Response'
    router.get("/:a/:b/:c/:d/:e/:f", takes_six)
    # error: a handler is 'def name(req: Request) raises -> Response'
    router.get("/", Greeter("you"))
    # error: the result of a handler is a Response, String, Json[T] or a type
    router.get[answers_nothing]("/")
    # error: write the pattern first
    router.get(hello, "/")
    # error: a handler is 'def name(req: Request) raises -> Response'
    router.get("/")
    # error: a router has get, post, put, patch, delete, head and options
    router.fetch("/", hello)
    _ = router^


def closures() raises:
    var router = Router()
    var count = 0

    def counts(req: Request) raises {mut count} -> Response:
        count += 1
        return ok(String(count))

    # error: a handler is 'def name(req: Request) raises -> Response'
    router.get("/", counts)
    _ = router^


def servers() raises:
    # error: write HttpServer.bind(SocketAddr.localhost(8080))
    var server = HttpServer.bind(8080)
    server = HttpServer.bind(SocketAddr.localhost(0))
    # error: serve takes router^, an App, a type that conforms to Handler
    server.serve(takes_a_name, num_workers=2)
    var router = Router()
    # error: value of type 'Router' cannot be implicitly copied
    server.serve(router)
    # error: TestClient takes router^, an App, a type that conforms to Handler
    _ = TestClient(takes_a_name)


def states() raises:
    # error: write App(state=
    _ = App(Item(1), Router[Item]())
    # error: each worker gets a copy of the state
    _ = App(state=Connection(1), handler=Router[Connection]())


def main() raises:
    routes()
    closures()
    servers()
    states()
