/* Draws the plots of a report. Without it, the same numbers stand in tables. */
(() => {
  "use strict";

  const HEIGHT = 260;
  const MAX_LABELLED = 24; // bins whose counts are written above them
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [12, 5]];
  const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 }).format;
  const rounded = new Intl.NumberFormat("en", { maximumFractionDigits: 2 }).format;
  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const font = (size, weight = "400") => `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;

  let plots = [...document.querySelectorAll("[data-plot]")].map(prepare);

  function prepare(part) {
    const box = part.querySelector(".plot");
    const source = part.querySelector("script").textContent;
    const plot = { box, source, spec: JSON.parse(source), readout: part.querySelector(".readout"), drawn: null };
    box.replaceChildren(); // what stands there for those without a script
    draw(plot, box.parentElement.clientWidth);
    part.querySelector("details").open = false;
    box.tabIndex = 0;
    box.addEventListener("keydown", (event) => step(plot, event));
    box.addEventListener("blur", () => point(plot, null));
    return plot;
  }

  function draw(plot, width) {
    const { spec, box } = plot;
    plot.drawn?.destroy();
    const isHistogram = spec.kind === "histogram";
    const [data, series] = isHistogram ? bars(spec) : lines(spec);
    const options = {
      width,
      height: HEIGHT,
      legend: { show: false },
      padding: [isHistogram ? 28 : 12, 12, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { show: !isHistogram } },
      scales: {
        x: { time: false, ...(isHistogram ? { range: [data[0][0] + 0.4 * spec.width, data[0].at(-1) - 0.4 * spec.width] } : {}) },
        y: isHistogram ? { range: (_, __, most) => [0, Math.max(most, 1) * 1.12] } : { range: (_, least, most) => ends(spec, least, most) },
      },
      axes: [
        axis(spec.xLabel, isHistogram ? spec.width === 1 : spec.x.every(Number.isInteger), 30),
        axis(spec.yLabel, isHistogram, 50),
      ],
      series: [{}, ...series],
      hooks: {
        draw: isHistogram ? [(drawn) => annotate(drawn, spec, data)] : [],
        setCursor: [(drawn) => tell(plot, drawn.cursor.idx)],
      },
    };
    plot.data = data;
    plot.drawn = new uPlot(options, data, box);
  }

  function axis(label, isWhole, spaceBelow) {
    return {
      label,
      labelSize: 22,
      labelFont: font(12),
      font: font(12),
      size: spaceBelow,
      stroke: colour("quiet"),
      grid: { stroke: colour("rule"), width: 1, show: spaceBelow > 40 },
      ticks: { stroke: colour("rule"), width: 1, size: 4 },
      values: (_, splits) => splits.map((value) => (value === null ? "" : format(value))),
      ...(isWhole ? { incrs: [1, 2, 5].flatMap((n) => [n, n * 10, n * 100, n * 1e3, n * 1e4, n * 1e5]).sort((a, b) => a - b) } : {}),
    };
  }

  /* Bins of equal width side by side: those without a count have none, and one at each end keeps the width. */
  function bars(spec) {
    const first = spec.x[0] - spec.width;
    const size = Math.round((spec.x.at(-1) - first) / spec.width) + 2;
    const x = Array.from({ length: size }, (_, i) => first + i * spec.width);
    const counts = Array.from({ length: size }, () => null);
    spec.x.forEach((at, i) => { counts[Math.round((at - first) / spec.width)] = spec.counts[i]; });
    const fill = colour("accent");
    const series = { label: spec.yLabel, fill, stroke: fill, width: 0, points: { show: false } };
    // A bar of one whole number stands at it; one of a range covers it, since a mean may lie at its end.
    const look = spec.width === 1 ? { size: [0.82, 90], radius: 0.08 } : { size: [1, Infinity], gap: 1 };
    return [[x, counts], [{ ...series, paths: uPlot.paths.bars(look) }]];
  }

  /* A little beyond what the page names, so that a line at an end is seen whole. */
  function ends(spec, least, most) {
    const [from, to] = spec.yEnds ?? [least ?? 0, most ?? 1];
    const room = 0.04 * (to - from);
    return [from - room, to + room];
  }

  function lines(spec) {
    const isSparse = spec.x.length <= 40;
    const series = spec.series.map((line) => ({
      label: line.name,
      stroke: colour(`line-${line.look + 1}`),
      width: 2,
      spanGaps: true, // runs have values at steps of their own
      dash: DASHES[line.look],
      points: { show: isSparse, size: 6, fill: colour("paper") },
    }));
    return [[spec.x, ...spec.series.map((line) => line.values)], series];
  }

  /* Names at their places of the axis, and counts above their bars. */
  function annotate(drawn, spec, [x, counts]) {
    const { ctx } = drawn;
    const ratio = devicePixelRatio;
    ctx.save();
    mark(drawn, spec.marks, ratio);
    ctx.setLineDash([]);
    ctx.textAlign = "center";
    ctx.font = font(12 * ratio, "600");
    ctx.fillStyle = colour("ink");
    ctx.strokeStyle = colour("paper"); // keeps a count apart from a line behind it
    ctx.lineWidth = 4 * ratio;
    ctx.lineJoin = "round";
    if (spec.counts.length <= MAX_LABELLED) {
      counts.forEach((count, i) => {
        if (!count) return;
        const place = [format(count), drawn.valToPos(x[i], "x", true), drawn.valToPos(count, "y", true) - 6 * ratio];
        ctx.strokeText(...place);
        ctx.fillText(...place);
      });
    }
    ctx.restore();
  }

  /* Lines with their names above the plot, of two the left one's on its left. */
  function mark(drawn, marks, ratio) {
    const { ctx, bbox } = drawn;
    const leftmost = Math.min(...marks.map(({ at }) => at));
    ctx.font = font(11 * ratio);
    ctx.lineWidth = 1.5 * ratio;
    marks.forEach(({ label, at }, i) => {
      const x = drawn.valToPos(at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      const isLeft = marks.length > 1 ? at === leftmost : x > bbox.left + bbox.width * 0.7;
      ctx.strokeStyle = ctx.fillStyle = colour(i === 0 ? "ink" : "contrast");
      ctx.setLineDash(i === 0 ? [] : [5 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top - 16 * ratio);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.textAlign = isLeft ? "right" : "left";
      ctx.fillText(`${label} ${rounded(at)}`, x + (isLeft ? -5 : 5) * ratio, bbox.top - 8 * ratio);
    });
  }

  function tell(plot, index) {
    const { spec, data, readout } = plot;
    if (index === null || index === undefined) {
      readout.textContent = "";
      return;
    }
    const names = spec.kind === "histogram" ? [spec.yLabel] : spec.series.map((line) => line.name);
    const values = names.map((name, i) => `${name}: ${data[i + 1][index] === null ? "–" : format(data[i + 1][index])}`);
    readout.textContent = [`${spec.xLabel}: ${format(data[0][index])}`, ...values].join("  ·  ");
  }

  function step(plot, event) {
    const last = plot.data[0].length - 1;
    const now = plot.drawn.cursor.idx;
    const next = {
      ArrowLeft: now === null || now === undefined ? last : Math.max(now - 1, 0),
      ArrowRight: now === null || now === undefined ? 0 : Math.min(now + 1, last),
      Home: 0,
      End: last,
      Escape: null,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    point(plot, next);
  }

  function point(plot, index) {
    const left = index === null ? -10 : plot.drawn.valToPos(plot.data[0][index], "x");
    plot.drawn.setCursor({ left, top: index === null ? -10 : 20 });
  }

  function redraw(most = Infinity) {
    for (const plot of plots) draw(plot, Math.min(plot.box.parentElement.clientWidth, most));
  }

  /* Whoever changed a page says so: what is new is drawn, what has other numbers drawn anew. */
  addEventListener("plots-changed", () => {
    const parts = [...document.querySelectorAll("[data-plot]")];
    for (const plot of plots.filter(({ box }) => !box.isConnected)) {
      observer.unobserve(plot.box.parentElement);
      plot.drawn.destroy();
    }
    plots = parts.map((part) => {
      const known = plots.find(({ box }) => part.contains(box));
      if (known === undefined) {
        const made = prepare(part);
        observer.observe(part);
        return made;
      }
      const source = part.querySelector("script").textContent;
      if (source !== known.source) {
        Object.assign(known, { source, spec: JSON.parse(source) });
        const at = known.drawn.cursor.idx;
        draw(known, known.box.parentElement.clientWidth);
        if (document.activeElement === known.box && at !== null && at !== undefined) point(known, Math.min(at, known.data[0].length - 1));
      }
      return known;
    });
  });

  const PRINTED_WIDTH = 320; // of one of two columns
  function print(isPrinted) {
    document.documentElement.classList.toggle("printed", isPrinted);
    redraw(isPrinted ? PRINTED_WIDTH : Infinity);
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  const observer = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const plot = plots.find((one) => one.box.parentElement === target);
      if (plot.drawn.width !== contentRect.width) plot.drawn.setSize({ width: contentRect.width, height: HEIGHT });
    }
  });
  for (const plot of plots) observer.observe(plot.box.parentElement);
})();
