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
            t" autocomplete='username' autocapitalize='none'></label>"
            t"<label>Password <input name='password' type='password' required"
            t" autocomplete='current-password'></label>"
            t"<button>Sign in</button></form></main>"
        ),
    )


def notes_page(person: String) raises -> Response:
    return layout(
        "Fieldbook",
        html(
            t"<script src='/static/fieldbook.js'"
            t" defer></script><header><h1>Fieldbook</h1><p><span id='link'"
            t" role='status'></span></p><form method='post'"
            t" action='/sign-out'><span id='person'>{person}</span>"
            t" <button>Sign out</button></form></header><main><form"
            t" id='draft'><h2>Write a note</h2><p id='problem'"
            t" role='alert'></p><label>Place <input name='place' required"
            t" maxlength='80'></label><label>What you saw <textarea name='text'"
            t" required rows='4'"
            t" maxlength='2000'></textarea></label><label>Picture <input"
            t" name='picture' type='file'"
            t" accept='image/png,image/jpeg,image/webp'></label><button>Save</button></form><section"
            t" aria-label='Notes'><ol id='notes'></ol><button id='more'"
            t" type='button' hidden>Earlier notes</button></section><template"
            t" id='note'><li><article><h3></h3><p class='by'></p><p"
            t" class='text'></p><img hidden alt=''><button type='button'"
            t" class='delete'"
            t" hidden>Delete</button></article></li></template></main>"
        ),
    )
