// One cursor for all charts of a group: the value of each curve at the iteration under the pointer, or under the arrow keys.
for (const group of document.querySelectorAll("[data-curves]")) {
  const charts = [...group.querySelectorAll("figure.curve")].map((figure) => {
    const chart = JSON.parse(figure.querySelector("script").textContent);
    const svg = figure.querySelector("svg");
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "g");
    mark.setAttribute("class", "cursor");
    svg.append(mark);
    return { ...chart, figure, svg, mark, output: figure.querySelector("output") };
  });
  const points = charts.flatMap((chart) => chart.series.flatMap((one) => one.points));
  const steps = [...new Set(points.map((point) => point[0]))].sort((a, b) => a - b);
  if (!steps.length) continue;
  let at = steps.length - 1;
  const across = (chart, x) => {
    const [left, right] = chart.area;
    return left + ((x - chart.x[0]) / (chart.x[1] - chart.x[0] || 1)) * (right - left);
  };
  const nearest = (points, x) =>
    points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
  const hide = () => charts.forEach((chart) => { chart.mark.replaceChildren(); chart.output.textContent = ""; });
  const show = (index) => {
    at = Math.min(Math.max(index, 0), steps.length - 1);
    for (const chart of charts) {
      const [, , top, bottom] = chart.area;
      const x = across(chart, steps[at]);
      const texts = [];
      let marks = `<line x1="${x}" x2="${x}" y1="${top}" y2="${bottom}"/>`;
      for (const one of chart.series.filter((one) => one.points.length)) {
        const [step, value] = nearest(one.points, steps[at]);
        const y = bottom - ((value - chart.y[0]) / (chart.y[1] - chart.y[0] || 1)) * (bottom - top);
        marks += `<circle cx="${across(chart, step)}" cy="${y}" r="4" fill="${one.colour}"/>`;
        texts.push(`${one.name} ${Number(value.toPrecision(4))}`);
      }
      chart.mark.innerHTML = marks;
      chart.output.textContent = `${steps[at]}: ${texts.join(" · ")}`;
    }
  };
  for (const chart of charts) {
    const [left, right] = chart.area;
    chart.svg.addEventListener("pointermove", (event) => {
      const box = chart.svg.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * chart.svg.viewBox.baseVal.width;
      const x = chart.x[0] + ((place - left) / (right - left)) * (chart.x[1] - chart.x[0]);
      show(steps.indexOf(nearest(steps.map((step) => [step]), x)[0]));
    });
    chart.svg.addEventListener("pointerleave", hide);
    chart.figure.addEventListener("focus", () => show(at));
    chart.figure.addEventListener("blur", hide);
    chart.figure.addEventListener("keydown", (event) => {
      const by = event.shiftKey ? 10 : 1;
      const to = { ArrowLeft: at - by, ArrowRight: at + by, Home: 0, End: steps.length - 1 }[event.key];
      if (to !== undefined) { event.preventDefault(); show(to); }
      if (event.key === "Escape") hide();
    });
  }
}

// The image, the class and the attributes of the point under the pointer.
for (const maps of document.querySelectorAll(".maps")) {
  const tip = maps.querySelector(".tip");
  if (!tip) continue;
  const { classes, names, attributes, sheet } = JSON.parse(maps.querySelector("script").textContent);
  const image = tip.querySelector("i");
  const size = 72;
  maps.addEventListener("pointerover", (event) => {
    const at = event.target.dataset?.i;
    tip.hidden = at === undefined;
    if (tip.hidden) return;
    if (image) {
      image.hidden = at >= sheet.count;
      image.style.backgroundSize = `${sheet.columns * size}px auto`;
      image.style.backgroundPosition = `${-(at % sheet.columns) * size}px ${-Math.floor(at / sheet.columns) * size}px`;
    }
    const guess = JSON.parse(event.target.closest(".map").dataset.guesses)[at];
    const parts = [names[classes[at]], ...attributes.map(({ name, values }) => `${name} ${values[at]}`)];
    if (guess !== undefined && guess !== classes[at]) parts.push(`taken for ${names[guess]}`);
    tip.querySelector("span").textContent = parts.join(" · ");
  });
  maps.addEventListener("pointermove", (event) => {
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 4))}px`;
  });
  maps.addEventListener("pointerleave", () => (tip.hidden = true));
}

// Runs are folded: a link to one opens it, paper shows all.
const unfold = () => {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (place?.tagName === "DETAILS") place.open = true;
};
addEventListener("hashchange", unfold);
unfold();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((folded) => (folded.open = true)));
