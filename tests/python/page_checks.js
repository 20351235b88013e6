// Lists what a page breaks of the rules for accessible pages (WCAG 2.2).
(() => {
  const found = [], all = [...document.querySelectorAll("*")];
  const expect = (isMet, what) => isMet || found.push(what);
  const isShown = (element) => element.getClientRects().length > 0;

  // 3.1.1, 2.4.2: language and title.
  expect(document.documentElement.lang, "no language");
  expect(document.title.trim(), "no title");
  expect(document.querySelector('meta[name=viewport]') && !/user-scalable=no|maximum-scale/.test(document.querySelector('meta[name=viewport]').content), "no zoom");

  // 1.3.1: one first heading, and no level is left out.
  const levels = [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map((h) => +h.tagName[1]);
  expect(levels.filter((level) => level == 1).length == 1, "not one h1");
  levels.forEach((level, i) => expect(i == 0 ? level == 1 : level <= levels[i - 1] + 1, "a heading jumps to " + level));
  expect(document.querySelectorAll("main").length == 1, "not one main");

  // 4.1.1: each id once, and each reference leads somewhere.
  const ids = all.map((element) => element.id).filter(Boolean);
  expect(new Set(ids).size == ids.length, "an id stands twice");
  for (const element of all)
    for (const key of ["aria-labelledby", "aria-describedby", "aria-controls"])
      for (const id of (element.getAttribute(key) ?? "").split(" ").filter(Boolean))
        expect(document.getElementById(id), `${key} leads to no ${id}`);

  // 4.1.2, 1.1.1: names, and states within their bounds.
  for (const element of all) {
    const role = element.getAttribute("role"), label = element.getAttribute("aria-label");
    if (element.tagName == "BUTTON") expect(label || element.textContent.trim(), "a button without a name");
    if (["img", "meter", "region", "group"].includes(role)) expect(label?.trim(), role + " without a name");
    if (element.tagName == "CANVAS" || element.tagName == "svg") expect(role == "img" || element.ariaHidden == "true", element.tagName + " is no img");
    if (role == "meter") {
      const now = +element.getAttribute("aria-valuenow");
      expect(element.hasAttribute("aria-valuenow") && now >= 0 && now <= 100, "a meter shows " + now);
    }
    for (const [key, values] of [["aria-pressed", ["true", "false"]], ["aria-sort", ["ascending", "descending", "none"]]])
      if (element.hasAttribute(key)) expect(values.includes(element.getAttribute(key)), key);
    expect(!(element.tabIndex > 0), "a tabindex over 0");
    // 2.1.1: what scrolls can be reached by the keyboard.
    if (isShown(element) && element.scrollWidth > element.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(element).overflowX))
      expect(element.tabIndex == 0, "scrolls without a keyboard: " + element.className);
  }
  for (const table of document.querySelectorAll("table")) {
    const heads = table.tHead?.rows[0]?.cells.length;
    expect(heads && [...table.tHead.rows[0].cells].every((cell) => cell.tagName == "TH"), "a table without heads");
    for (const row of table.tBodies[0].rows) expect(row.cells.length == heads, "a row is not as long as its head");
  }
  for (const list of document.querySelectorAll("ul,ol"))
    expect([...list.children].every((child) => child.tagName == "LI"), "a list with other parts");

  // 2.5.8: targets of 24 pixels.
  for (const button of document.querySelectorAll("header button")) {
    const {width, height} = button.getBoundingClientRect();
    expect(width >= 24 && height >= 24, "a small button: " + button.textContent);
  }

  // 1.4.3: the contrast of each text is 4.5 at least, 3 if it is large.
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const light = (color) => channels(color).slice(0, 3).map((x) => x / 255).map((x) => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [.2126, .7152, .0722][i], 0);
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const color = getComputedStyle(element).backgroundColor, alpha = channels(color)[3];
      if (alpha === undefined || alpha == 1) return color;
    }
    return "rgb(255,255,255)";
  };
  for (const element of all) {
    const hasText = [...element.childNodes].some((node) => node.nodeType == 3 && node.data.trim());
    if (!hasText || !isShown(element) || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
    const style = getComputedStyle(element), a = light(style.color), b = light(ground(element));
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
    expect(contrast >= (isLarge ? 3 : 4.5), `contrast ${contrast.toFixed(2)} of ${element.tagName} ${element.textContent.slice(0, 20)}`);
    expect(size >= 12, `text of ${size} pixels: ${element.textContent.slice(0, 20)}`);
  }
  return found;
})()
