"use strict";
// Beside each chart: its numbers as CSV, and the chart as PNG. Nothing leaves the page.
const saving = (data) => {
  // A name that begins like a formula must not be run by a spreadsheet.
  const cell = (value) => {
    if (value == null) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = (rows) => `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;

  function overTime(lines, unit) {
    const units = { bandwidth: "bytes per second", duration: "seconds", percent: "ratio" };
    const header = ["seconds", ...lines.map((line) => `${line.label} (${units[unit]})`)];
    return [header, ...data.moments.map((moment, n) => [moment, ...lines.map((line) => line.values[n])])];
  }

  function rows(name) {
    const chart = data.charts.find((candidate) => candidate.name === name);
    if (chart) return overTime(chart.lines, chart.unit);
    const lines = data.evidence[name];
    if (lines) return overTime(lines.map(([n, m]) => data.charts[n].lines[m]), data.charts[lines[0][0]].unit);
    return data.tables[name];
  }

  function download(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  const styles = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order",
    "text-anchor", "font-family", "font-size", "font-weight"];

  // A style sheet does not reach a drawing that is used as an image: each element takes its styles along, as attributes
  // because the security policy refuses inline styles.
  async function picture(svg) {
    const copy = svg.cloneNode(true), { width, height } = svg.viewBox.baseVal;
    const originals = [svg, ...svg.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((element, n) => {
      const computed = getComputedStyle(originals[n]);
      for (const name of styles) element.setAttribute(name, computed.getPropertyValue(name));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", 2 * width);
    copy.setAttribute("height", 2 * height);
    const image = new Image();
    image.src = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    await image.decode();
    URL.revokeObjectURL(image.src);
    return { image, width: 2 * width, height: 2 * height, ratio: 2 };
  }

  // The title above, the legend below: a picture in a ticket has no page around it.
  async function png(figure) {
    const canvas = figure.querySelector("canvas"), ratio = devicePixelRatio;
    const source = canvas
      ? { image: canvas, width: canvas.width, height: canvas.height, ratio }
      : await picture(figure.querySelector("svg.chart"));
    const size = 14 * source.ratio, page = getComputedStyle(figure.closest(".fold, section") ?? document.body);
    const legend = [...figure.querySelectorAll(".legend li")].map((entry) => [
      entry.firstChild.textContent.trim() || entry.textContent.trim(),
      getComputedStyle(entry.querySelector("svg > *")),
    ]);
    const result = document.createElement("canvas"), ctx = result.getContext("2d");
    result.width = source.width;
    result.height = source.height + (2 + 1.5 * legend.length) * size;
    ctx.fillStyle = page.backgroundColor;
    ctx.fillRect(0, 0, result.width, result.height);
    ctx.fillStyle = page.color;
    ctx.font = `600 ${size}px system-ui, sans-serif`;
    ctx.fillText(figure.querySelector("h3, h4").textContent, size / 2, 1.2 * size, result.width - size);
    ctx.drawImage(source.image, 0, 1.6 * size, source.width, source.height);
    ctx.font = `${0.9 * size}px system-ui, sans-serif`;
    legend.forEach(([text, style], n) => {
      const y = source.height + (2.6 + 1.5 * n) * size;
      ctx.lineWidth = 2 * source.ratio;
      ctx.strokeStyle = style.stroke;
      ctx.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(",").map((dash) => source.ratio * parseFloat(dash)));
      if (style.fill === "none") {
        ctx.beginPath();
        ctx.moveTo(size / 2, y);
        ctx.lineTo(2.5 * size, y);
        ctx.stroke();
      } else {
        ctx.fillStyle = style.fill;
        ctx.fillRect(size / 2, y - size / 2, 2 * size, size);
      }
      ctx.fillStyle = page.color;
      ctx.fillText(text, 3 * size, y + 0.3 * size, result.width - 3.5 * size);
    });
    return new Promise((done) => { result.toBlob(done, "image/png"); });
  }

  for (const figure of document.querySelectorAll("figure[data-export]")) {
    const name = figure.dataset.export, title = figure.querySelector("h3, h4");
    const head = document.createElement("div"), place = document.createElement("p");
    head.className = "head";
    place.className = "save";
    title.replaceWith(head);
    head.append(title, place);
    const offer = (kind, save) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", `${kind}: ${title.textContent}`);
      button.addEventListener("click", save);
      place.append(button);
    };
    if (rows(name)) offer("CSV", () => download(new Blob([csv(rows(name))], { type: "text/csv" }), `${name}.csv`));
    offer("PNG", async () => download(await png(figure), `${name}.png`));
  }
  return { rows, csv, png };
};
