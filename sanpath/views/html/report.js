"use strict";
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("series").textContent);
  const dashes = [[], [9, 4], [3, 3], [12, 3, 3, 3], [6, 6], [2, 5], [16, 4], [10, 3, 2, 3, 2, 3]];
  const number = (value, digits) => value.toLocaleString("en-US", { maximumFractionDigits: digits });
  const say = {
    bandwidth: (v) => (v >= 1e9 ? `${number(v / 1e9, 2)} GB/s` : `${number(v / 1e6, 1)} MB/s`),
    duration: (v) => (v > 0 && v < 1e-4 ? `${number(v * 1e6, 0)} µs` : `${number(v * 1e3, v < 1e-2 ? 2 : 1)} ms`),
    percent: (v) => `${number(v * 100, 1)} %`,
  };
  const elapsed = (seconds) => {
    const whole = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
    const h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60, s = whole % 60;
    return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
  };

  // The style sheet knows the colours of both themes; a canvas has to be told.
  const probe = document.createElement("i");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };

  const colours = (...names) => names.map(colour);
  const font = () => `${12 * devicePixelRatio}px system-ui, sans-serif`;

  const stored = {
    get: () => { try { return localStorage.getItem("sanpath-theme") || ""; } catch { return ""; } },
    set: (value) => { try { localStorage.setItem("sanpath-theme", value); } catch { /* not kept, then */ } },
  };

  let plots = [];
  const range = { from: null, to: null };

  function bands(u) {
    const { ctx, bbox } = u;
    const inside = (x) => Math.min(Math.max(x, bbox.left), bbox.left + bbox.width), [band, ink] = colours("band", "soft");
    ctx.save();
    ctx.font = font();
    ctx.textAlign = "center";
    for (const [name, begin, end] of data.steps) {
      const left = inside(u.valToPos(begin, "x", true)), right = inside(u.valToPos(end, "x", true));
      ctx.fillStyle = band;
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.fillStyle = ink;
      if (ctx.measureText(name).width < right - left) ctx.fillText(name, (left + right) / 2, bbox.top - 5 * devicePixelRatio);
    }
    ctx.restore();
  }

  function limits(u, chart) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("limit");
    ctx.setLineDash([8 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.font = font();
    ctx.textAlign = "right";
    for (const [what, value] of chart.limits) {
      const y = u.valToPos(value, "y", true);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.fillText(what, bbox.left + bbox.width - 4, y - 6 * devicePixelRatio, bbox.width);
    }
    ctx.restore();
  }

  function marks(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("ink");
    ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.lineWidth = devicePixelRatio;
    ctx.font = font();
    ctx.textAlign = "left";
    for (const [text, moment] of data.marks) {
      const x = u.valToPos(moment, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(`▲ ${text}`, x + 4, bbox.top + bbox.height - 6 * devicePixelRatio);
    }
    ctx.restore();
  }

  const row = { height: 40, bar: 16 };

  // A row per hop, the first at the top; y counts rows from the bottom.
  function heat(u, chart) {
    const { ctx, bbox } = u, scale = devicePixelRatio, [, ...rest] = data.moments;
    const half = rest.length ? (data.moments[1] - data.moments[0]) / 2 : 0.5;
    const fills = colours("heat-0", "heat-1", "heat-2", "heat-3", "heat-4"), [ink, soft] = colours("ink", "soft");
    const inside = (x) => Math.min(Math.max(u.valToPos(x, "x", true), bbox.left), bbox.left + bbox.width);
    ctx.save();
    ctx.font = font();
    ctx.textAlign = "left";
    chart.lines.forEach((line, n) => {
      const top = bbox.top + (n + 1) * row.height * scale - (row.bar + 3) * scale, height = row.bar * scale;
      ctx.strokeStyle = soft;
      ctx.fillStyle = ink;
      let label = line.label;
      while (label.length > 4 && ctx.measureText(label).width > bbox.width) label = `${label.slice(0, -2)}…`;
      ctx.fillText(label, bbox.left, top - 5 * scale);
      ctx.setLineDash([2 * scale, 3 * scale]);
      ctx.lineWidth = 0.7 * scale;
      ctx.strokeRect(bbox.left, top, bbox.width, height);
      if (line.values.every((value) => value == null)) ctx.fillText("not measured", bbox.left + 6 * scale, top + 12 * scale);
      line.values.forEach((value, m) => {
        if (value == null) return;
        const left = inside(data.moments[m] - half), right = inside(data.moments[m] + half);
        ctx.fillStyle = fills[chart.heat.filter((limit) => value >= limit).length];
        if (right > left) ctx.fillRect(Math.floor(left), top, Math.ceil(right) - Math.floor(left), height);
      });
    });
    ctx.restore();
  }

  function reading(u, chart) {
    const { idx, top } = u.cursor, line = chart.lines[Math.floor(top / row.height)], value = line?.values[idx];
    const place = u.root.closest("[data-chart]").querySelector(".reading");
    place.textContent = value == null ? "" : `${line.label}: ${say.percent(value)} at ${elapsed(u.data[0][idx])}`;
  }

  function heatOptions(chart, base) {
    const rows = chart.lines.length, peaks = chart.lines.map((line) => Math.max(-1, ...line.values.filter((v) => v != null)));
    const middle = 1 - (row.height - row.bar / 2 - 3) / row.height;
    return {
      ...base,
      height: tall(chart),
      scales: { x: { time: false }, y: { range: () => [0, rows] } },
      axes: [
        base.axes[0],
        {
          ...base.axes[1],
          grid: { show: false },
          splits: () => peaks.map((_, n) => rows - n - 1 + middle),
          values: () => peaks.map((peak) => (peak < 0 ? "-" : `${number(100 * peak, 0)} %`)),
        },
      ],
      series: [{}, ...chart.lines.map(() => ({ show: false }))],
      hooks: { drawClear: [bands], draw: [(u) => heat(u, chart), marks], setCursor: [(u) => reading(u, chart)] },
    };
  }

  const tall = (chart) => (chart.heat ? chart.lines.length * row.height + 50 : 240);

  function point(u, chart) {
    const { idx } = u.cursor;
    u.root.closest("[data-chart]").querySelectorAll(".now").forEach((place, n) => {
      const value = idx == null ? null : u.data[n + 1][idx];
      place.textContent = value == null ? "" : `${say[chart.unit](value)} at ${elapsed(u.data[0][idx])}`;
    });
  }

  function bounds(chart, low, high) {
    const tops = chart.limits.map(([, value]) => value);
    if (chart.logarithmic) return [low > 0 ? low / 1.5 : 1e-5, high > 0 ? high * 1.5 : 1];
    return [0, 1.15 * Math.max(high || 0, ...tops) || 1];
  }

  function options(chart, width) {
    const axis = { stroke: colour("soft"), grid: { stroke: colour("rule"), width: 1 }, ticks: { show: false } };
    const base = {
      width,
      height: 240,
      padding: [20, null, null, null],
      cursor: { sync: { key: "time" } },
      legend: { show: false },
      scales: {
        x: { time: false },
        y: { distr: chart.logarithmic ? 3 : 1, range: (u, low, high) => bounds(chart, low, high) },
      },
      axes: [
        { ...axis, size: 30, incrs: data.times, values: (u, splits) => splits.map(elapsed) },
        {
          ...axis,
          size: 84,
          values: (u, splits) => splits.map((v) => (v == null ? "" : say[chart.unit](v))),
        },
      ],
      series: [
        {},
        ...chart.lines.map((line) => ({
          label: line.label,
          stroke: colour(`line-${line.style}`),
          width: 2,
          dash: dashes[line.style],
          points: { show: false },
        })),
      ],
      hooks: { drawClear: [bands], draw: [(u) => limits(u, chart), marks], setCursor: [(u) => point(u, chart)] },
    };
    return chart.heat ? heatOptions(chart, base) : base;
  }

  function draw() {
    for (const plot of plots) plot.destroy();
    plots = [...document.querySelectorAll("[data-chart]")].map((place) => {
      const chart = data.charts[Number(place.dataset.chart)];
      const values = chart.lines.map((line) => line.values.map((v) => (chart.logarithmic && v === 0 ? null : v)));
      place.classList.add("live");
      const plot = new uPlot(options(chart, place.clientWidth), [data.moments, ...values], place);
      const canvas = plot.root.querySelector("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", place.querySelector("svg").textContent.trim().slice(0, 600));
      return plot;
    });
    if (range.from !== null) zoom();
  }

  function zoom() {
    const last = data.moments.length - 1;
    const scale = { min: range.from ?? data.moments[0], max: range.to ?? data.moments[last] };
    for (const plot of plots) plot.setScale("x", scale);
  }

  function offerRange() {
    const select = document.getElementById("range");
    if (!select) return;
    select.append(new Option("the whole run", ""));
    data.steps.forEach(([name], index) => select.append(new Option(`step ${name}`, index)));
    select.addEventListener("change", () => {
      const step = select.value === "" ? [null, null, null] : data.steps[Number(select.value)];
      [, range.from, range.to] = step;
      zoom();
    });
    select.closest(".range").hidden = false;
  }

  function offerTheme() {
    const select = document.getElementById("theme");
    const apply = () => {
      if (select.value) root.dataset.theme = select.value;
      else delete root.dataset.theme;
    };
    select.value = stored.get();
    apply();
    select.addEventListener("change", () => { stored.set(select.value); apply(); draw(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    select.closest(".theme").hidden = false;
  }

  // Only what can be scrolled is a stop for the keyboard and a landmark.
  function stops() {
    for (const part of document.querySelectorAll(".scroll")) {
      if (part.scrollWidth > part.clientWidth) {
        part.setAttribute("role", "region");
        part.tabIndex = 0;
      } else {
        part.setAttribute("role", "presentation");
        part.removeAttribute("tabindex");
      }
    }
  }

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open]):not(.more)")];
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of closed) part.open = false; });

  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    stops();
    for (const plot of plots) {
      plot.setSize({ width: plot.root.closest("[data-chart]").clientWidth, height: plot.height });
    }
  });

  function offerCopies() {
    for (const button of document.querySelectorAll("button.copy")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        const text = button.parentElement.querySelector("code").textContent.trim();
        try {
          await navigator.clipboard.writeText(text);
          button.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(button.parentElement.querySelector("code"));
          button.textContent = "Selected";
        }
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
    }
  }

  // A link to a part that is folded unfolds it.
  function unfold() {
    const part = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (part && part.matches("details")) part.open = true;
  }

  offerTheme();
  offerRange();
  offerCopies();
  saving(data);
  unfold();
  addEventListener("hashchange", unfold);
  draw();
  stops();
  addEventListener("toggle", (event) => {
    stops();
    for (const plot of plots) {
      const place = plot.root.closest("[data-chart]");
      if (event.target.contains(place) && place.clientWidth && plot.width !== place.clientWidth) {
        plot.setSize({ width: place.clientWidth, height: plot.height });
      }
    }
  }, true);
})();
