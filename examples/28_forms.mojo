# Run: mojo run -I . examples/28_forms.mojo
# Prints: hello Ada Lovelace, 36
# Prints: title=A report
# Prints: file notes.txt: 240000 octets of text/plain
"""Reads forms: small ones whole, uploads part by part as they come."""

from flare.http import Form, FormFields, MultipartForm, form_value
from flare.prelude import *
from flare.testing import TestClient


def greet(form: Form[FormFields]) raises -> String:
    var age = form_value[Int](form.value, "age")
    return String("hello ", form.value.get("name").value(), ", ", age)


def upload(req: Request) raises -> Response:
    var parts = req.multipart()
    var piece = List[UInt8](length=64 * 1024, fill=0)
    var report = String()
    while True:
        var next = parts.next_part()
        if not next:
            return ok(report^)
        ref part = next.value()
        if not part.is_file():
            report.write(part.name, "=", parts.text(), "\n")
            continue
        # Only one piece of the file is in memory at a time.
        var total = 0
        var count = parts.read(Span(piece))
        while count > 0:
            total += count
            count = parts.read(Span(piece))
        report.write("file ", part.file_name.value(), ": ", total, " octets")
        report.write(" of ", part.content_type(), "\n")


def main() raises:
    var router = Router()
    router.post[greet]("/greet")
    router.post("/upload", upload)
    var client = TestClient(router^)
    var headers = HeaderMap()
    headers.append("Content-Type", "application/x-www-form-urlencoded")
    print(client.post("/greet", "name=Ada+Lovelace&age=36", headers).text())

    var form = MultipartForm()
    form.add_field("title", "A report")
    var notes = List[UInt8](length=240_000, fill=UInt8(ord("x")))
    form.add_octets(
        "f", notes^, file_name="notes.txt", content_type="text/plain"
    )
    headers.set("Content-Type", form.content_type())
    print(client.post("/upload", form.octets(), headers).text(), end="")
