"""The style sheet of the shop: for phones first, light and dark."""

comptime STYLE: StaticString = """:root { color-scheme: light dark; --line: rgb(128 128 128 / .5); --accent: #0a5fb4; --on-accent: #fff; }
@media (prefers-color-scheme: dark) { :root { --accent: #8ec5ff; --on-accent: #06213d; } }
* { box-sizing: border-box; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 0 auto; padding: 0 1rem 3rem; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; border-bottom: 1px solid var(--line); }
header a { padding: .75rem 0; }
a { color: var(--accent); }
h1 { font-size: 1.5rem; line-height: 1.2; }
ul { list-style: none; padding: 0; }
li { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: end; justify-content: space-between; padding: .75rem 0; border-bottom: 1px solid var(--line); }
li p { flex: 1 1 10rem; margin: 0; }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; }
form.order { flex-direction: column; align-items: stretch; max-width: 24rem; }
label { display: flex; flex-direction: column; font-size: .875rem; }
input, button { font: inherit; min-height: 2.75rem; padding: .25rem .75rem; border: 1px solid var(--line); border-radius: .375rem; }
input[type=number] { width: 5.5rem; }
button { background: var(--accent); color: var(--on-accent); border-color: var(--accent); cursor: pointer; }
a:focus-visible, input:focus-visible, button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; } .skip:focus { position: static; }
.problem { border-left: 4px solid #d33; padding-left: .75rem; }
"""
