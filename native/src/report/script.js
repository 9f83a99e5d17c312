// One cursor for all charts of a group: what each curve is at the iteration under the pointer, or under the arrow keys.
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
      const said = [];
      let marks = `<line x1="${x}" x2="${x}" y1="${top}" y2="${bottom}"/>`;
      for (const one of chart.series.filter((one) => one.points.length)) {
        const [step, value] = nearest(one.points, steps[at]);
        const y = bottom - ((value - chart.y[0]) / (chart.y[1] - chart.y[0] || 1)) * (bottom - top);
        marks += `<circle cx="${across(chart, step)}" cy="${y}" r="4" fill="${one.colour}"/>`;
        said.push(`${one.name} ${Number(value.toPrecision(4))}`);
      }
      chart.mark.innerHTML = marks;
      chart.output.textContent = `${steps[at]}: ${said.join(" · ")}`;
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

// Runs are folded: a link to one opens it, paper shows all.
const unfold = () => {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (place?.tagName === "DETAILS") place.open = true;
};
addEventListener("hashchange", unfold);
unfold();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((folded) => (folded.open = true)));
