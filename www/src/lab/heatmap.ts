// A matrix as a heat map that answers to the pointer and to the keyboard.
import type { Rows } from "simile-web";
import { paint, type Shape } from "../shapes.js";
import { hueColour, onThemeChange, readTheme, type Theme } from "../theme.js";
import { withMinus } from "../words.js";

/** A cell by its row and its column, as places in the order shown. */
export type Cell = readonly [row: number, column: number];

export interface HeatmapView {
  readonly values: Rows;
  /** The index into the matrix for each shown row and column. */
  readonly order: readonly number[];
  /** The hue of each row of the matrix. */
  readonly hues: readonly number[];
  readonly cell: Cell | undefined;
  /** The value of the strongest colour. */
  readonly largest: number;
}

/** The text in place of the description of a cell while none is pointed at. */
export const NO_CELL = "Point at a cell, or reach a map with the Tab key and use the arrow keys.";

/** The range of the values of a matrix, in words; nothing for one that is not there. */
export function rangeOf(values: readonly number[]): string {
  const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => withMinus(value.toPrecision(2)));
  return values.length > 0 ? `from ${low} to ${high}` : "";
}

/** Width of the strips that carry the colours of the samples. */
const STRIP = 10;
const MOVES: Readonly<Record<string, Cell>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

export class Heatmap {
  readonly canvas = document.createElement("canvas");
  #view: HeatmapView | undefined;

  /** `described` is the id of the text that describes the cell. */
  constructor(
    label: string,
    described: string,
    private readonly onCell: (cell: Cell | undefined) => void,
  ) {
    const { canvas } = this;
    canvas.className = "heatmap";
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", label);
    canvas.setAttribute("aria-describedby", described);
    // A finger that is lifted leaves as a pointer, but not as the mouse that follows a tap: its cell can be read then.
    canvas.addEventListener("mousemove", (event) => onCell(this.#find(event)));
    canvas.addEventListener("mouseleave", () => onCell(undefined));
    // After the `blur` of another map.
    canvas.addEventListener("click", (event) => onCell(this.#find(event)));
    canvas.addEventListener("blur", () => onCell(undefined));
    canvas.addEventListener("keydown", (event) => this.#press(event));
    new ResizeObserver(() => this.#paint()).observe(canvas);
    onThemeChange(() => this.#paint());
  }

  show(view: HeatmapView): void {
    this.#view = view;
    this.#paint();
  }

  /** Whole pixels, so that cells meet without a seam. */
  #cellSize(): number {
    return Math.max(1, Math.floor((this.canvas.clientWidth - STRIP) / (this.#view?.order.length ?? 1)));
  }

  #find({ offsetX, offsetY }: MouseEvent): Cell | undefined {
    const count = this.#view?.order.length ?? 0;
    const [row, column] = [offsetY, offsetX].map((offset) => Math.floor((offset - STRIP) / this.#cellSize())) as [
      number,
      number,
    ];
    const isInside = [row, column].every((at) => at >= 0 && at < count);
    return isInside ? [row, column] : undefined;
  }

  #press(event: KeyboardEvent): void {
    const move = MOVES[event.key];
    const count = this.#view?.order.length ?? 0;
    if (event.key === "Escape") this.onCell(undefined);
    if (!move || count === 0) return;
    event.preventDefault();
    const [row, column] = this.#view?.cell ?? [0, 0];
    const clamp = (at: number) => Math.max(0, Math.min(count - 1, at));
    this.onCell(this.#view?.cell ? [clamp(row + move[0]), clamp(column + move[1])] : [0, 0]);
  }

  #paint(): void {
    const view = this.#view;
    if (!view) return;
    const [size, cell, theme] = [this.canvas.clientWidth, this.#cellSize(), readTheme()];
    paint(this.canvas, {
      width: size,
      height: size,
      shapes: [...cells(view, cell, theme), ...strips(view, cell), ...frame(view, cell, theme)],
    });
  }
}

function cells({ values, order, largest }: HeatmapView, cell: number, theme: Theme): Shape[] {
  return order.flatMap((i, row) =>
    order.map((j, column): Shape => {
      const value = values[i]?.[j] ?? 0;
      const fill = value < 0 ? theme.repel : theme.attract;
      const at = [STRIP + (column + 0.5) * cell, STRIP + (row + 0.5) * cell] as const;
      const opacity = Math.min(1, Math.abs(value) / largest);
      return { kind: "square", at, radius: cell / 2, fill, colour: fill, width: 0, opacity };
    }),
  );
}

function strips({ order, hues }: HeatmapView, cell: number): Shape[] {
  return order.flatMap((sample, at): Shape[] => {
    const [middle, colour] = [STRIP + (at + 0.5) * cell, hueColour(hues[sample] ?? 0)];
    const strip = (points: readonly (readonly [number, number])[]): Shape => ({
      kind: "line",
      points,
      colour,
      width: STRIP * 0.6,
    });
    const [from, to, edge] = [middle - cell / 2, middle + cell / 2, STRIP * 0.3];
    return [
      strip([
        [from, edge],
        [to, edge],
      ]),
      strip([
        [edge, from],
        [edge, to],
      ]),
    ];
  });
}

/** Lines around the row and the column that are pointed at. */
function frame({ order, cell: place }: HeatmapView, cell: number, theme: Theme): Shape[] {
  if (!place) return [];
  const end = STRIP + order.length * cell;
  const box = (left: number, top: number, right: number, bottom: number): Shape => ({
    kind: "line",
    points: [
      [left, top],
      [right, top],
      [right, bottom],
      [left, bottom],
      [left, top],
    ],
    colour: theme.ink,
    width: 1.5,
  });
  const [top, left] = place.map((at) => STRIP + at * cell) as [number, number];
  return [box(STRIP, top, end, top + cell), box(left, STRIP, left + cell, end)];
}
