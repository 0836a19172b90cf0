// Measures pages in frames of a phone's and a desk's width; what is wrong goes into the document as JSON.
const wrong = [];
let measured = 0;

function say(what) {
  wrong.push(what);
}

function name(element) {
  return `<${element.tagName.toLowerCase()}> ${element.textContent.trim().slice(0, 40)}`;
}

// Red, green, blue from 0 to 255, and how opaque from 0 to 1.
function colour(text) {
  const parts = text.match(/[\d.]+/g).map(Number);
  return parts.length === 3 ? [...parts, 1] : parts;
}

// Relative luminance and contrast, WCAG 2.2.
function luminance([r, g, b]) {
  const [x, y, z] = [r, g, b].map((v) => (v <= 10.31 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}

function contrast(ink, paper) {
  const [a, b] = [luminance(ink), luminance(paper)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}

// What is behind an element: the first ancestor that is painted, else white.
function behind(element, view) {
  for (let e = element; e; e = e.parentElement) {
    const paint = colour(view.getComputedStyle(e).backgroundColor);
    if (paint[3] === 1) return paint;
  }
  return [255, 255, 255, 1];
}

// Whether somebody can scroll to what stands outside.
function scrolls(element, view) {
  for (let e = element; e; e = e.parentElement) {
    if (["auto", "scroll"].includes(view.getComputedStyle(e).overflowX)) return true;
  }
  return false;
}

function measure(frame, width, page) {
  const view = frame.contentWindow;
  const document = frame.contentDocument;
  const at = (what) => say(`${page} at ${width} pixels: ${what}`);
  if (document.body.textContent.trim().length < 100) return at("there is next to nothing on it");
  measured += 1;
  if (document.documentElement.scrollWidth > width) {
    at(`it is ${document.documentElement.scrollWidth} pixels wide`);
  }
  if (document.scripts.length > 0) at("it has a script");
  for (const loaded of view.performance.getEntriesByType("resource")) {
    if (!loaded.name.startsWith("file:")) at(`it loads ${loaded.name}`);
  }
  for (const image of document.images) {
    if (image.naturalWidth === 0 && image.loading !== "lazy") at(`no image at ${image.getAttribute("src")}`);
    if (!image.alt) at(`an image without words: ${image.getAttribute("src")}`);
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || ["style", "desc", "title"].includes(element.tagName.toLowerCase())) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    if ((box.right > width + 1 || box.left < -1) && !scrolls(element, view)) at(`cut off: ${name(element)}`);
    const drawn = element.namespaceURI.endsWith("svg");
    const style = view.getComputedStyle(element);
    const drawing = drawn ? element.getScreenCTM() : { a: 1, b: 0 };
    const size = parseFloat(style.fontSize) * Math.hypot(drawing.a, drawing.b);
    if (size < 9) at(`letters of ${size.toFixed(1)} pixels: ${name(element)}`);
    const ink = colour(drawn ? style.fill : style.color);
    const seen = contrast(ink, behind(element, view));
    if (seen < 4.5) at(`contrast of ${seen.toFixed(1)}: ${name(element)}`);
  }
}

function shown(page, width) {
  return new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.style = `width: ${width}px; height: 844px; border: 0`;
    frame.onload = () => {
      measure(frame, width, page);
      frame.remove();
      done();
    };
    frame.src = page;
    document.body.append(frame);
  });
}

onload = async () => {
  for (const page of PAGES) for (const width of [390, 1280]) await shown(page, width);
  const out = document.createElement("pre");
  out.id = "answer";
  out.textContent = JSON.stringify({ measured, wrong });
  document.body.append(out);
};
