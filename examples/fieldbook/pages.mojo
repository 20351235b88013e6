"""The two pages: one to sign in, and one with the notes."""

from flare.html import Markup, html
from flare.prelude import *


def layout(title: String, content: Markup) raises -> Response:
    var page = html(
        t"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>"
        t"<meta name='viewport' content='width=device-width'>"
        t"<title>{title}</title>"
        t"<link rel='stylesheet' href='/static/fieldbook.css'>"
        t"<link rel='icon' href='/static/icon.svg'>"
        t"</head><body>{content}</body></html>"
    )
    # After a sign-out, the browser shows no page from its cache.
    return ok_html(page^).with_header("Cache-Control", "no-store")


def sign_in_page(name: String, problem: String) raises -> Response:
    return layout(
        "Sign in",
        html(
            t"<main class='small'><h1>Fieldbook</h1>"
            t"<form method='post' action='/sign-in'>"
            t"<p role='alert'>{problem}</p>"
            t"<label>Name <input name='name' value='{name}' required"
            t" autocomplete='username'></label>"
            t"<label>Password <input name='password' type='password' required"
            t" autocomplete='current-password'></label>"
            t"<button>Sign in</button></form></main>"
        ),
    )


def notes_page(person: String) raises -> Response:
    return layout(
        "Fieldbook",
        html(
            t"<script src='/static/fieldbook.js' defer></script>"
            t"<header><h1>Fieldbook</h1>"
            t"<p><span id='link' role='status'></span></p>"
            t"<form method='post' action='/sign-out'>"
            t"<span id='person'>{person}</span> <button>Sign out</button></form>"
            t"</header><main><form id='draft'><h2>Write a note</h2>"
            t"<p id='problem' role='alert'></p>"
            t"<label>Place <input name='place' required maxlength='80'></label>"
            t"<label>What you saw <textarea name='text' required rows='4'"
            t" maxlength='2000'></textarea></label>"
            t"<label>Picture <input name='picture' type='file'"
            t" accept='image/png,image/jpeg,image/webp'></label>"
            t"<button>Save</button></form>"
            t"<section aria-label='Notes'><ol id='notes'></ol>"
            t"<button id='more' type='button' hidden>Earlier notes</button>"
            t"</section><template id='note'><li><article>"
            t"<h3></h3><p class='by'></p><p class='text'></p>"
            t"<img hidden alt=''><button type='button' class='delete' hidden>"
            t"Delete</button></article></li></template></main>"
        ),
    )
