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

  const stored = {
    get: () => { try { return localStorage.getItem("sanpath-theme") || ""; } catch { return ""; } },
    set: (value) => { try { localStorage.setItem("sanpath-theme", value); } catch { /* not kept, then */ } },
  };

  let plots = [];
  const range = { from: null, to: null };

  function bands(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    for (const [name, begin, end] of data.steps) {
      const left = u.valToPos(begin, "x", true), right = u.valToPos(end, "x", true);
      ctx.fillStyle = colour("band");
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.fillStyle = colour("soft");
      if (ctx.measureText(name).width < right - left) ctx.fillText(name, left + 4, bbox.top + 14 * devicePixelRatio);
    }
    ctx.restore();
  }

  function limits(u, chart) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("limit");
    ctx.setLineDash([8 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
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
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
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
    return {
      width,
      height: 240,
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
      plot.setSize({ width: plot.root.closest("[data-chart]").clientWidth, height: 240 });
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
  unfold();
  addEventListener("hashchange", unfold);
  draw();
  stops();
  addEventListener("toggle", (event) => {
    stops();
    for (const plot of plots) {
      const place = plot.root.closest("[data-chart]");
      if (event.target.contains(place) && place.clientWidth && plot.width !== place.clientWidth) {
        plot.setSize({ width: place.clientWidth, height: 240 });
      }
    }
  }, true);
})();
