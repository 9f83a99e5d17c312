// Small line charts: a number of both sides over the steps, and their paths in a plane of two numbers.
import { type Picture, paint, type Point, type Shape } from "./shapes.js";
import { onThemeChange, readTheme, type Theme } from "./theme.js";
import { withMinus } from "./words.js";

/** The path of each side, as points of the chart. */
export type Paths = readonly [readonly Point[], readonly Point[]];

export interface ChartOptions {
  readonly title: string;
  readonly across: string;
  readonly up: string;
  /** Ranges that the axes show at least. */
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
  /** The names of the sides. */
  readonly sides: readonly [string, string];
}

const PAD = { left: 44, right: 12, top: 12, bottom: 30 };

export class Chart {
  readonly element = document.createElement("figure");
  readonly #canvas = document.createElement("canvas");
  readonly #caption = document.createElement("figcaption");
  #paths: Paths = [[], []];

  constructor(private options: ChartOptions) {
    this.#canvas.className = "chart";
    this.#canvas.setAttribute("role", "img");
    this.show([[], []]);
    this.#caption.textContent = options.title;
    this.element.append(this.#caption, this.#canvas);
    new ResizeObserver(() => this.#paint()).observe(this.#canvas);
    onThemeChange(() => this.#paint());
  }

  /** Begins with other ranges. The chart is kept, because observers of the page hold it. */
  clear(ranges: Pick<ChartOptions, "x" | "y">): void {
    this.options = { ...this.options, ...ranges };
    this.show([[], []]);
  }

  show(paths: Paths): void {
    this.#paths = paths;
    const { title, sides } = this.options;
    const ends = paths.map((path, side) => `${sides[side]} ${withMinus(path.at(-1)?.[1].toFixed(2) ?? "none")}`);
    this.#canvas.setAttribute("aria-label", `${title}: ${ends.join(", ")}`);
    this.#paint();
  }

  picture(): Picture {
    return chartPicture(this.options, this.#paths, this.#canvas.clientWidth, this.#canvas.clientHeight, readTheme());
  }

  #paint(): void {
    if (this.#canvas.clientWidth > 0) paint(this.#canvas, this.picture());
  }
}

function chartPicture(options: ChartOptions, paths: Paths, width: number, height: number, theme: Theme): Picture {
  const all = paths.flat();
  const [x0, x1] = span(
    options.x,
    all.map(([x]) => x),
  );
  const [y0, y1] = span(
    options.y,
    all.map(([, y]) => y),
  );
  const [right, bottom] = [width - PAD.right, height - PAD.bottom];
  const at = ([x, y]: Point): Point => [
    PAD.left + ((x - x0) / (x1 - x0)) * (right - PAD.left),
    bottom - ((y - y0) / (y1 - y0)) * (bottom - PAD.top),
  ];
  const text = (where: Point, label: string, align: "start" | "middle" | "end"): Shape => ({
    kind: "text",
    at: where,
    text: label,
    colour: theme.quiet,
    align,
  });
  const shapes: Shape[] = [
    {
      kind: "line",
      points: [
        [PAD.left, PAD.top],
        [PAD.left, bottom],
        [right, bottom],
      ],
      colour: theme.line,
    },
    text([PAD.left - 5, PAD.top + 9], tick(y1), "end"),
    text([PAD.left - 5, bottom], tick(y0), "end"),
    text([PAD.left, bottom + 14], tick(x0), "start"),
    text([right, bottom + 14], tick(x1), "end"),
    text([(PAD.left + right) / 2, bottom + 24], options.across, "middle"),
    text([PAD.left + 6, PAD.top + 9], options.up, "start"),
  ];
  paths.forEach((path, side) => {
    const colour = side === 0 ? theme.left : theme.right;
    if (path.length > 0) shapes.push({ kind: "line", points: path.map(at), colour, width: 2 });
  });
  return { width, height, shapes: [...shapes, ...ends(paths, at, theme)] };
}

/** The ends of both paths: the disc is the upper one and the smaller, so that both are seen where they agree. */
function ends([left, right]: Paths, at: (point: Point) => Point, theme: Theme): Shape[] {
  const mark = (kind: "disc" | "square", path: readonly Point[], radius: number, colour: string): Shape[] =>
    path.slice(-1).map((end) => ({ kind, at: at(end), radius, fill: colour, colour }));
  return [...mark("square", right, 4.5, theme.right), ...mark("disc", left, 4, theme.left)];
}

function span([low, high]: readonly [number, number], values: readonly number[]): [number, number] {
  const [from, to] = [Math.min(low, ...values), Math.max(high, ...values)];
  return from < to ? [from, to] : [from - 1, to + 1];
}

/** A number at the end of an axis: a count of steps in full. */
function tick(value: number): string {
  return withMinus(`${Number.isInteger(value) ? value : Number(value.toPrecision(2))}`);
}
