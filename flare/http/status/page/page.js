"use strict";
const $ = (query) => document.querySelector(query);
const make = (parent, tag, content = "") => {
  const element = document.createElement(tag);
  element.textContent = element.was = content;
  parent.append(element);
  return element;
};
const put = (element, content) => {
  if (element.was !== content) element.textContent = element.was = content;
};
const set = (element, key, content) => element.setAttribute(key, content);
const name = (element, content) => set(element, "aria-label", content);

// Numbers with three digits, as people read them.
const digits = (x) => x.toFixed(x < 9.995 && x % 1 ? 2 : x < 99.95 && x % 1 ? 1 : 0);
const amount = (x) => x >= 999500 ? digits(x / 1e6) + " M" : x >= 9999.5 ? digits(x / 1e3) + " k" : digits(x);
const period = (us) => us >= 999500 ? digits(us / 1e6) + " s" : us >= 999.5 ? digits(us / 1e3) + " ms" : us > 0 ? digits(us) + " µs" : "–";
const age = (s) => s >= 86400 ? `${s / 86400 | 0} d ${s / 3600 % 24 | 0} h` : s >= 3600 ? `${s / 3600 | 0} h ${s / 60 % 60 | 0} min` : `${s / 60 | 0} min ${s % 60} s`;

// History: a ring of columns for each of two windows.
const COLUMNS = 300, ROWS = 48, LINES = 6;
const history = (step, title) => ({step, title, column: -1, samples: 0, heat: new Uint32Array(COLUMNS * ROWS), lines: new Float32Array(COLUMNS * LINES).fill(NaN)});
const windows = [history(1, "5 minutes"), history(12, "1 hour")];
function remember(past, pairs, values) {
  const latest = Math.floor(second / past.step), at = latest % COLUMNS;
  for (let i = Math.max(past.column, latest - COLUMNS) + 1; i <= latest; i++) {
    const old = i % COLUMNS;
    past.heat.fill(0, old * ROWS, (old + 1) * ROWS);
    past.lines.fill(NaN, old * LINES, (old + 1) * LINES);
    past.samples = 0;
  }
  past.column = latest;
  past.samples++;
  for (let i = 0; i < pairs.length; i += 2) past.heat[at * ROWS + pairs[i]] += pairs[i + 1];
  values.forEach((x, i) => {
    const place = at * LINES + i, old = past.lines[place];
    // Rates and medians are averaged; of the slowest, the slowest remains.
    past.lines[place] = isNaN(old) || i == 2 ? x : i > 3 ? Math.max(old, x) : old + (x - old) / past.samples;
  });
}
const lineAt = (i, x) => shown.lines[(shown.column + 1 + x) % COLUMNS * LINES + i];
let shown = windows[0], paused = false, sample, second = 3600, heard = 0, number = 0;

// Four numbers, each with its line.
const cards = [["Requests", amount, "/s", 0], ["99th percentile", period, "", 4], ["Errors", amount, "/s", 1], ["Connections", amount, "", 2]].map(([title, format, unit, index]) => {
  const card = make($("#cards"), "div"), shape = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag), svg = shape("svg"), paths = [shape("path"), shape("path")];
  make(card, "p", title);
  const value = make(card, "b", "–");
  make(card, "i", unit);
  set(svg, "viewBox", "0 0 99 30");
  set(svg, "preserveAspectRatio", "none");
  set(svg, "role", "img");
  name(svg, title);
  svg.append(...paths);
  card.append(svg);
  return () => {
    const now = sample.values[index] ?? 0, peaks = [];
    put(value, format(now));
    value.className = index == 1 && now > 0 ? "bad" : "";
    let low = Infinity, high = 0, drawn = "", first = -1, last;
    for (let i = 0; i < COLUMNS; i++) {
      const x = lineAt(index, i), place = i / 3 | 0;
      if (!(x >= 0)) continue;
      peaks[place] = Math.max(peaks[place] ?? 0, x);
      low = Math.min(low, x);
      high = Math.max(high, x);
    }
    peaks.forEach((x, i) => {
      drawn += `${first < 0 ? "M" : "L"}${i} ${29 - 28 * x / (high || 1) | 0}`;
      if (first < 0) first = i;
      last = i;
    });
    if (first < 0) return;
    set(paths[0], "d", `${drawn}L${last} 30L${first} 30`);
    set(paths[1], "d", drawn);
    name(svg, `${title + unit}, last ${shown.title}: ${format(low)} to ${format(high)}`);
  };
});

// The heat map: time, latencies in logarithmic rows, counts as colors. Lines
// lie over it, on a canvas of their own.
const [canvas, over] = document.querySelectorAll("canvas"), pens = [canvas.getContext("2d"), over.getContext("2d")], dark = matchMedia("(prefers-color-scheme: dark)");
const small = document.createElement("canvas"), ink = small.getContext("2d"), image = ink.createImageData(COLUMNS, ROWS), pixels = new Uint32Array(image.data.buffer), shades = new Uint32Array(64);
small.width = COLUMNS;
small.height = ROWS;
let colors, painted, until, lowest, highest, wide, tall;
function paint() {
  const stops = dark.matches
    ? [[24, 38, 62], [31, 78, 140], [36, 140, 190], [110, 208, 170], [250, 240, 150]]
    : [[214, 229, 250], [140, 184, 240], [64, 128, 216], [30, 70, 160], [18, 24, 84]];
  for (let i = 1; i < 64; i++) {
    const at = (i - 1) / 15.6, from = stops[at | 0], to = stops[(at | 0) + 1];
    shades[i] = from.reduce((color, x, k) => color | x + (to[k] - x) * (at % 1) << 8 * k, 255 << 24);
  }
  colors = ["q0", "q1", "q2", "line", "soft", "panel"].map((key) => getComputedStyle(document.body).getPropertyValue("--" + key));
  painted = "";
}
const level = (power) => 8 + (tall - 30) * (highest - power) / (highest - lowest);
function clear(i) {
  const scale = devicePixelRatio, pen = pens[i], target = pen.canvas;
  wide = canvas.clientWidth;
  tall = canvas.clientHeight;
  if (target.width != (wide * scale | 0)) target.width = wide * scale;
  if (target.height != (tall * scale | 0)) target.height = tall * scale;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, wide, tall);
  return pen;
}
function drawHeat() {
  const cells = shown.heat, pen = clear(0);
  let most = 1, low = ROWS, high = 0;
  for (let i = 0; i < cells.length; i++) {
    if (!cells[i]) continue;
    const row = i % ROWS;
    if (cells[i] > most) most = cells[i];
    if (row < low) low = row;
    if (row > high) high = row;
  }
  // Only new columns are painted, unless the shades change.
  const bits = Math.ceil(Math.log2(1 + most)), factor = 62.9 / bits, state = bits + shown.title, latest = shown.column;
  for (let slot = 0; slot < COLUMNS; slot++) {
    if (state == painted && (latest - slot) % COLUMNS > latest - until) continue;
    for (let row = 0; row < ROWS; row++) {
      const n = cells[slot * ROWS + row];
      pixels[(ROWS - 1 - row) * COLUMNS + slot] = n && shades[1 + Math.log2(1 + n) * factor | 0];
    }
  }
  painted = state;
  until = latest;
  ink.putImageData(image, 0, 0);
  // Whole powers of ten, three at least.
  lowest = Math.min(low % ROWS / 6 | 0, 5);
  highest = Math.max(high / 6 + 1 | 0, lowest + 3);
  const left = 56, width = (wide - left) / COLUMNS, split = (latest + 1) % COLUMNS, y = ROWS - 6 * highest, h = 6 * (highest - lowest);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, split, y, COLUMNS - split, h, left, 8, (COLUMNS - split) * width, tall - 30);
  if (split) pen.drawImage(small, 0, y, split, h, left + (COLUMNS - split) * width, 8, split * width, tall - 30);
  pen.font = "12px system-ui";
  pen.textAlign = "right";
  for (let power = lowest; power <= highest; power++) {
    pen.fillStyle = colors[3];
    pen.fillRect(left, level(power) | 0, wide, 1);
    pen.fillStyle = colors[4];
    pen.fillText(period(10 ** power), left - 8, level(power) + 4);
  }
  pen.fillText("now", wide, tall - 5);
  pen.textAlign = "left";
  pen.fillText(shown.title + " ago", left, tall - 5);
}
function drawLines() {
  const pen = clear(1);
  for (let i = 0; i < 3; i++) {
    let old;
    pen.beginPath();
    for (let x = 0; x < COLUMNS; x++) {
      const us = lineAt(3 + i, x);
      if (us > 0) pen[old > 0 ? "lineTo" : "moveTo"](56 + (wide - 56) * (x + .5) / COLUMNS, level(Math.log10(us)));
      old = us;
    }
    // Each has an edge in the color of the page.
    [[colors[5], 3.6, []], [colors[i], 1.8, [[], [6, 3], [2, 3]][i]]].forEach(([color, width, dashes]) => {
      pen.strokeStyle = color;
      pen.lineWidth = width;
      pen.setLineDash(dashes);
      pen.stroke();
    });
    put($("#key").children[i].lastChild, period(sample.latency_us[i]));
  }
  name(canvas, `Heat map of latencies, last ${shown.title}. Now ${$("#key").textContent}`);
}

// Routes, sorted by a column.
const ROUTES_MAX = 40, routes = new Map(), body = make($("#routes"), "tbody");
let sorted = 1, upwards = false;
const heads = ["Route", "Req/s", "p50", "p99", "Errors/s"].map((title, i) => {
  const head = make($("#routes tr"), "th");
  make(head, "button", title).onclick = () => {
    upwards = sorted == i ? !upwards : !i;
    sorted = i;
    mark();
    draw(true);
  };
  return head;
});
const mark = () => heads.forEach((head, i) => i == sorted ? set(head, "aria-sort", upwards ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
const perWindow = (n) => amount(n / Math.max(sample.window_s, 1));
function drawRoutes() {
  const active = [...routes.values()].filter((route) => route[1]), sign = upwards ? 1 : -1;
  active.sort((a, b) => a[sorted] > b[sorted] ? sign : a[sorted] < b[sorted] ? -sign : a[0] > b[0] ? 1 : -1);
  active.slice(0, ROUTES_MAX).forEach((route, i) => {
    const row = body.rows[i] ?? make(body, "tr");
    [route[0], perWindow(route[1]), period(route[2]), period(route[3]), perWindow(route[4])].forEach((content, k) => put(row.cells[k] ?? make(row, "td"), content));
    row.cells[0].title = route[0];
    row.cells[4].className = route[4] ? "bad" : "";
  });
  while (body.rows.length > Math.min(active.length, ROUTES_MAX)) body.lastChild.remove();
  put($("#rest"), active.length > ROUTES_MAX ? `and ${active.length - ROUTES_MAX} more` : active.length ? "" : "No requests now");
}

// Workers, slow requests, counts.
const workers = new Map(), slow = [];
function drawWorkers() {
  const list = $("#workers"), table = $("#slow").tBodies[0];
  for (const [index, busy, requests, connections, fibers] of workers.values()) {
    let item = list.children[index];
    while (!item) {
      const added = make(list, "li"), title = "Worker " + (list.children.length - 1);
      make(added, "b", title);
      make(added, "span");
      const meter = make(added, "div");
      set(meter, "role", "meter");
      set(meter, "aria-valuemax", 100);
      name(meter, title + ", share of a CPU in per cent");
      item = list.children[index];
    }
    const percent = Math.round(busy / 10);
    put(item.children[1], `${percent} % · ${perSecond(requests)}/s · ${amount(connections)} conn · ${amount(fibers)} fibers`);
    set(item.lastChild, "aria-valuenow", percent);
    item.lastChild.style.setProperty("--x", busy / 10 + "%");
  }
  while (list.children.length > sample.worker_count) list.lastChild.remove();
  slow.forEach(([ms, us, status, worker, id, index], i) => {
    const row = table.rows[i] ?? make(table, "tr");
    [new Date(ms).toTimeString().slice(0, 8), routes.get(index)?.[0] ?? "–", period(us), status, worker, id].forEach((content, k) => put(row.cells[k] ?? make(row, "td"), content));
  });
  const t = sample.totals;
  Object.entries({
    Uptime: age(sample.uptime_s), Requests: amount(t.requests), Active: amount(sample.active), Refused: amount(t.refused), "Failed handlers": amount(t.failed), "Slow turns": amount(t.slow_turns),
    "TLS handshakes": amount(t.handshakes), "TLS resumed": amount(t.resumed), Streams: amount(t.streams), Memory: digits(t.memory / 2 ** 20) + " MiB", Descriptors: amount(t.descriptors),
  }).forEach(([key, content], i) => {
    const pair = $("dl").children[i] ?? make($("dl"), "div");
    if (!pair.firstChild) make(pair, "dt", key), make(pair, "dd");
    put(pair.lastChild, content);
  });
}
const perSecond = (n) => amount(n * 1e3 / sample.interval_ms);

// One part of the page in each frame keeps every frame short.
let parts = [];
function next() {
  parts.shift()();
  if (parts.length) requestAnimationFrame(next);
}
function draw(always) {
  if (!sample || paused && !always || document.hidden) return;
  if (!parts.length) requestAnimationFrame(next);
  parts = [...cards, drawHeat, drawLines, drawRoutes, drawWorkers];
}

// Messages of the server.
function take(message) {
  number = message.number;
  if (message.is_first) {
    routes.clear();
    put($("#limit"), `${period(message.slow_ms * 1e3)} and longer, since this page was opened`);
    $("#note").hidden = message.counts;
    put($("#note"), "The server does not count in these metrics: pass them to ServerConfig(metrics=…).");
  }
  for (const [index, requests, errors, p50, p99, title] of message.routes ?? []) routes.set(index, [title ?? routes.get(index)?.[0], requests, p50, p99, errors]);
  if (!message.time_ms) return;
  second += Math.max(Math.round((message.time_ms - (heard || message.time_ms)) / 1e3), 1);
  heard = message.time_ms;
  const seconds = message.interval_ms / 1e3;
  message.values = [message.requests / seconds, message.errors / seconds, message.connections, ...message.latency_us];
  windows.forEach((past) => remember(past, message.heat, message.values));
  message.workers.forEach((worker) => workers.set(worker[0], worker));
  for (const index of workers.keys()) if (index >= message.worker_count) workers.delete(index);
  slow.unshift(...(message.slow ?? []).reverse());
  slow.length = Math.min(slow.length, 20);
  if (!paused) sample = message;
  draw();
}
let state;
function tell(now) {
  state = now;
  put($("#link"), paused ? "paused" : now);
  $("#link").className = paused ? "" : now;
}
function listen() {
  const source = new EventSource("?format=events");
  source.onopen = () => tell("live");
  source.onmessage = (event) => take(JSON.parse(event.data));
  source.onerror = () => {
    tell("disconnected");
    if (source.readyState == 2) poll(30);
  };
}
// A proxy may hold events back, and a full server refuses them.
async function poll(times) {
  let wait = 1e3;
  try {
    const answer = await fetch("?format=json&since=" + number);
    if (answer.ok) {
      (await answer.json()).messages.forEach(take);
      tell("live");
    } else {
      wait = 1e4;
      tell(answer.status == 503 ? "too many viewers" : "refused");
    }
  } catch {
    tell("disconnected");
  }
  setTimeout(() => times ? poll(times - 1) : listen(), wait);
}

// The page's own controls.
const choices = document.querySelectorAll("header div button"), pause = $("#pause");
choices.forEach((choice, i) => choice.onclick = () => {
  shown = windows[i];
  choices.forEach((other) => set(other, "aria-pressed", other == choice));
  draw(true);
});
pause.onclick = () => {
  paused = !paused;
  set(pause, "aria-pressed", paused);
  tell(state);
  draw();
};
put($("#host"), location.host);
document.title = "Status of " + location.host;
dark.onchange = () => {
  paint();
  draw(true);
};
onresize = document.onvisibilitychange = () => draw(true);
paint();
mark();
listen();
