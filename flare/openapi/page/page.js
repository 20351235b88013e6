"use strict";
const find = (id) => document.getElementById(id);
const main = find("main");
const source = document.body.dataset.document;
const METHODS = ["get", "post", "put", "patch", "delete", "head", "options", "trace"];
const secrets = {};
let api = {};

// Texts of the document only ever become text nodes.
function make(tag, attributes, ...parts) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...parts.flat().filter((part) => part != null && part !== ""));
  return element;
}

const dim = (text) => text ? make("span", { class: "dim" }, ` ${text} `) : "";

function resolve(value) {
  if (!value?.$ref) return value || {};
  let found = api;
  for (const key of value.$ref.slice(2).split("/")) found = found?.[key];
  return found || {};
}

// A schema in a line, with links to the named ones.
function line(schema) {
  if (schema === true || !Object.keys(schema || {}).length) return ["any"];
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return [make("a", { href: `#schema-${name}` }, name)];
  }
  const choice = schema.anyOf || schema.oneOf || schema.allOf;
  if (choice) return choice.flatMap((part, i) => [i ? (schema.allOf ? " & " : " | ") : null, ...line(part)]);
  if (schema.enum) return [schema.enum.map((value) => JSON.stringify(value)).join(" | ")];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  const types = [schema.type || "any"].flat();
  return types.flatMap((type, i) => {
    const parts = [i ? " | " : null];
    if (type === "array") parts.push("[", ...line(schema.items), "]");
    else if (type === "object" && schema.additionalProperties) parts.push("{ …: ", ...line(schema.additionalProperties), " }");
    else parts.push(type);
    const limits = [schema.format, schema.contentMediaType];
    if (schema.minimum !== undefined) limits.push(`from ${schema.minimum}`);
    if (schema.maximum !== undefined) limits.push(`to ${schema.maximum}`);
    const text = limits.filter(Boolean).join(", ");
    if (text && type !== "null") parts.push(` (${text})`);
    return parts;
  });
}

function fields(schema) {
  const names = Object.keys(schema.properties || {});
  if (!names.length) return null;
  return make("ul", {}, names.map((name) => {
    const field = schema.properties[name];
    const mark = (schema.required || []).includes(name) ? "" : "?";
    return make("li", {}, make("code", {}, `${name}${mark}: `, line(field)), dim(field.description), fields(field));
  }));
}

function shape(schema) {
  return schema ? make("div", {}, make("code", {}, line(schema)), fields(resolve(schema))) : "";
}

function example(schema, depth = 0) {
  const found = resolve(schema);
  const given = found.examples?.[0] ?? found.example ?? found.default ?? found.enum?.[0] ?? found.const;
  if (given !== undefined) return given;
  const choice = found.anyOf || found.oneOf || found.allOf;
  if (choice) return depth > 5 ? null : example(choice[0], depth + 1);
  const type = [found.type].flat()[0];
  if (type === "integer" || type === "number") return found.minimum > 0 ? found.minimum : 0;
  if (type === "boolean") return false;
  if (type === "string") return "";
  if (type === "array") return depth > 5 ? [] : [example(found.items, depth + 1)];
  if (type !== "object") return null;
  const kept = Object.entries(found.properties || {}).filter(([name]) => depth < 5 || found.required?.includes(name));
  return Object.fromEntries(kept.map(([name, field]) => [name, depth > 20 ? null : example(field, depth + 1)]));
}

// Requests go to this host only, with the prefix of a server of it.
function base() {
  for (const server of api.servers || []) {
    const url = new URL(server.url, new URL(source, location.href));
    if (url.origin === location.origin) return url.pathname.replace(/\/$/, "");
  }
  return "";
}

function authorize(operation, headers, query) {
  for (const name of (operation.security || api.security || []).flatMap(Object.keys)) {
    const scheme = (api.components.securitySchemes || {})[name] || {};
    const secret = secrets[name];
    if (!secret) continue;
    if (scheme.scheme === "basic") headers.set("Authorization", `Basic ${btoa(secret)}`);
    else if (scheme.type !== "apiKey") headers.set("Authorization", `Bearer ${secret}`);
    else if (scheme.in === "header") headers.set(scheme.name, secret);
    else if (scheme.in === "query") query.append(scheme.name, secret);
  }
}

function encoded(type, text) {
  if (type === "application/x-www-form-urlencoded" || type === "multipart/form-data") {
    const form = type[0] === "m" ? new FormData() : new URLSearchParams();
    for (const [name, value] of Object.entries(JSON.parse(text || "{}"))) {
      for (const one of [value].flat()) if (one !== null) form.append(name, one);
    }
    return form;
  }
  return text;
}

async function send(form, method, path, operation, result) {
  const query = new URLSearchParams();
  const headers = new Headers();
  const options = { method: method.toUpperCase(), headers };
  let target = path;
  for (const input of form.querySelectorAll("[data-in]")) {
    const { name, value, dataset } = input;
    if (dataset.in === "path") {
      const text = "rest" in dataset ? value.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(value);
      target = target.replace(`{${name}}`, () => text);
    } else if (value === "") continue;
    else if (dataset.in === "query") ("list" in dataset ? value.split(",") : [value]).forEach((one) => query.append(name, one));
    else if (dataset.in === "header") headers.set(name, value);
  }
  authorize(operation, headers, query);
  const type = form.querySelector("select");
  const start = performance.now();
  try {
    if (type) {
      options.body = encoded(type.value, form.querySelector("textarea").value);
      if (typeof options.body === "string") headers.set("Content-Type", type.value);
    }
    const question = String(query) && `?${query}`;
    const answer = await fetch(base() + target + question, options);
    let text = await answer.text();
    const took = Math.round(performance.now() - start);
    if (/json/.test(answer.headers.get("Content-Type") || "")) {
      try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* As it is. */ }
    }
    const lines = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    result.replaceChildren(
      make("p", { class: answer.ok ? "" : "bad" }, make("b", {}, `${answer.status} ${answer.statusText}`), ` in ${took} ms`),
      make("pre", { tabindex: 0 }, text || "(no content)"),
      make("details", {}, make("summary", {}, "Header fields"), make("pre", {}, lines)));
  } catch (error) {
    result.replaceChildren(make("p", { class: "bad" }, `No request, or no response: ${error.message}`));
  }
}

function inputs(operation) {
  return (operation.parameters || []).map(resolve).map((parameter) => make("label", {},
    make("span", {}, make("code", {}, `${parameter.name}${parameter.required ? "" : "?"}: `, line(parameter.schema)),
      dim(`${parameter.in}. ${parameter.description || ""}`)),
    make("input", {
      name: parameter.name,
      required: parameter.required && !parameter["x-flare-rest"],
      "data-in": parameter.in,
      "data-rest": parameter["x-flare-rest"],
      "data-list": [(parameter.schema || {}).type].flat()[0] === "array",
    })));
}

function content(body, form) {
  const types = Object.keys(body.content || {});
  if (!types.length) return;
  const text = make("textarea", { spellcheck: "false" });
  const fill = (type) => {
    const schema = body.content[type].schema;
    text.value = schema ? JSON.stringify(example(schema), null, 2) : "";
  };
  const select = make("select", { onchange: () => fill(select.value) }, types.map((type) => make("option", {}, type)));
  fill(types[0]);
  form.append(make("h3", {}, "Content"), make("label", {}, "Media type", select),
    shape(body.content[types[0]].schema), make("label", {}, "Text", text));
}

function details(method, path, operation) {
  const result = make("div", { "aria-live": "polite" });
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); send(form, method, path, operation, result); } });
  const parts = inputs(operation);
  if (parts.length) form.append(make("h3", {}, "Parameters"), ...parts);
  content(resolve(operation.requestBody), form);
  form.append(make("button", {}, "Send"));
  return [
    make("p", {}, operation.description || ""), form, result, make("h3", {}, "Responses"),
    make("ul", {}, Object.entries(operation.responses || {}).map(([status, ref]) => {
      const response = resolve(ref);
      return make("li", {}, make("b", {}, status), ` ${response.description} `,
        Object.entries(response.content || {}).map(([type, value]) => make("div", {}, dim(type), shape(value.schema))));
    })),
  ];
}

function card(method, path, operation) {
  const box = make("details", { class: operation.deprecated ? "op old" : "op", id: operation.operationId || `${method} ${path}` },
    make("summary", {}, make("b", {}, method.toUpperCase()), make("code", {}, path), make("span", {}, operation.summary || "")));
  box.addEventListener("toggle", () => {
    if (!box.open) return;
    if (box.children.length === 1) box.append(make("div", {}, details(method, path, operation)));
    history.replaceState(null, "", `#${box.id}`);
  });
  return box;
}

function show() {
  document.title = api.info.title;
  document.querySelector("h1").textContent = `${api.info.title} ${api.info.version}`;
  find("about").textContent = api.info.description || "";
  const schemes = Object.entries((api.components || {}).securitySchemes || {});
  for (const [name, scheme] of schemes) {
    const hint = scheme.scheme === "basic" ? "name:password" : scheme.in === "cookie" ? "the browser sends the cookie" : scheme.bearerFormat || "";
    find("bar").append(make("label", {}, `Secret of ${name}`, make("input", {
      type: "password", autocomplete: "off", placeholder: hint, disabled: scheme.in === "cookie",
      oninput: (event) => { secrets[name] = event.target.value; },
    })));
  }
  const groups = new Map();
  for (const [path, item] of Object.entries(api.paths || {})) {
    for (const method of METHODS.filter((name) => item[name])) {
      const tag = (item[method].tags || [])[0] || path.split("/")[1] || "/";
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(card(method, path, item[method]));
    }
  }
  main.replaceChildren(...[...groups].map(([tag, cards]) => make("section", {}, make("h2", {}, tag), cards)));
  const schemas = Object.entries((api.components || {}).schemas || {});
  if (schemas.length) {
    main.append(make("section", {}, make("h2", {}, "Schemas"), schemas.map(([name, schema]) =>
      make("details", { class: "op", id: `schema-${name}` }, make("summary", {}, make("code", {}, name)),
        make("div", {}, make("p", {}, schema.description || ""), fields(schema) || make("code", {}, line(schema)))))));
  }
  follow();
}

function follow() {
  const target = find(decodeURIComponent(location.hash.slice(1)));
  if (target && target.matches("details")) {
    target.open = true;
    target.querySelector("summary").focus();
  }
}

find("bar").addEventListener("submit", (event) => event.preventDefault());
find("filter").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(" ");
  for (const section of main.querySelectorAll("section")) {
    for (const box of section.querySelectorAll(".op")) {
      const text = box.firstChild.textContent.toLowerCase();
      box.hidden = !words.every((word) => text.includes(word));
    }
    section.hidden = !section.querySelector(".op:not([hidden])");
  }
});
addEventListener("hashchange", follow);
fetch(source).then((answer) => {
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}).then((found) => { api = found; show(); }).catch((error) => {
  main.replaceChildren(make("p", { class: "bad" }, `The document cannot be shown: ${error.message}`));
});
