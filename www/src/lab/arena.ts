// An arena on the page: its picture, and its pointer and keyboard actions.
import { arenaPicture, type ArenaView, MARGIN, REACH } from "./arena-picture.js";
import { Turntable } from "./camera.js";
import { paint, type Picture } from "../shapes.js";
import { onThemeChange, readTheme } from "../theme.js";

/** Actions that an arena requests from the page. Rows count the first views and then the second ones. */
export interface ArenaActions {
  /** A point was moved. */
  move(row: number, to: number[]): void;
  /** Another point is looked at, or none. */
  focus(row: number | undefined): void;
  /** A point was clicked. */
  click(row: number): void;
  /** A point is to be painted. */
  paint(row: number): void;
  /** The sphere was turned. */
  turned(): void;
}

/** Steps of the keyboard, in units of the radius. */
const STEP = 0.06;
const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};
const TURNS: Readonly<Record<string, readonly [number, number]>> = { a: [-1, 0], d: [1, 0], w: [0, 1], s: [0, -1] };

export class Arena {
  readonly canvas = document.createElement("canvas");
  #view: ArenaView | undefined;
  #dragged: { row: number; hasMoved: boolean } | "sphere" | undefined;

  constructor(
    label: string,
    private readonly actions: ArenaActions,
  ) {
    const { canvas } = this;
    canvas.className = "circle";
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", `Points, ${label}`);
    canvas.setAttribute("aria-describedby", "keys");
    canvas.addEventListener("pointerdown", (event) => this.#take(event));
    canvas.addEventListener("pointermove", (event) => this.#drag(event));
    canvas.addEventListener("pointerup", (event) => event.isPrimary && this.#release());
    canvas.addEventListener("pointercancel", (event) => event.isPrimary && (this.#dragged = undefined));
    // A finger that is lifted leaves as a pointer, but not as the mouse that follows a tap: what it pointed at can be read then.
    canvas.addEventListener("mousemove", (event) => this.#point(event));
    canvas.addEventListener("mouseleave", () => this.#dragged || actions.focus(undefined));
    canvas.addEventListener("keydown", (event) => this.#press(event));
    // A finger scrolls the page, unless it holds something.
    canvas.addEventListener("touchstart", (event) => this.#dragged && event.preventDefault(), { passive: false });
    new ResizeObserver(() => this.#paint()).observe(canvas);
    onThemeChange(() => this.#paint());
  }

  show(view: ArenaView): void {
    this.#view = view;
    this.#paint();
  }

  picture(): Picture | undefined {
    return this.#view && arenaPicture(this.#view, this.canvas.clientWidth, readTheme());
  }

  #paint(): void {
    const picture = this.picture();
    if (picture) paint(this.canvas, picture);
  }

  /** From the page to the plane of the picture. */
  #place({ offsetX, offsetY }: MouseEvent): readonly [number, number] {
    const half = this.canvas.clientWidth / 2;
    const radius = half / (1 + MARGIN);
    return [(offsetX - half) / radius, (half - offsetY) / radius];
  }

  #find([x, y]: readonly [number, number]): number | undefined {
    const { samples, camera } = this.#view ?? {};
    const nearest = samples?.views
      .flat()
      .map((row, at) => ({ at, place: camera?.place(row) ?? { x: 0, y: 0, depth: 0 } }))
      .map(({ at, place }) => ({ at, depth: place.depth, distance: Math.hypot(place.x - x, place.y - y) }))
      .filter(({ distance }) => distance < REACH * 2)
      .sort((p, q) => Number(q.depth >= 0) - Number(p.depth >= 0) || p.distance - q.distance)[0];
    return nearest?.at;
  }

  #take(event: PointerEvent): void {
    // A second finger, or another button of a mouse, takes nothing.
    if (!event.isPrimary || event.button !== 0) return;
    const row = this.#find(this.#place(event));
    if (row === undefined && !(this.#view?.camera instanceof Turntable)) return;
    this.#dragged = row === undefined ? "sphere" : { row, hasMoved: false };
    this.canvas.setPointerCapture(event.pointerId);
    this.actions.focus(row);
  }

  #point(event: MouseEvent): void {
    if (this.#dragged) return;
    const row = this.#find(this.#place(event));
    if (row !== this.#view?.focus) this.actions.focus(row);
  }

  #drag(event: PointerEvent): void {
    const [view, dragged, place] = [this.#view, this.#dragged, this.#place(event)];
    if (!view || !dragged || !event.isPrimary) return;
    if (dragged === "sphere") {
      this.#turn(event.movementX * 0.008, event.movementY * 0.008);
    } else {
      // A small movement during a click does not move the point.
      dragged.hasMoved ||= this.#find(place) !== dragged.row || Math.hypot(event.movementX, event.movementY) > 2;
      const row = view.samples.views.flat()[dragged.row];
      if (dragged.hasMoved && row) this.actions.move(dragged.row, view.camera.point(...place, row));
    }
  }

  #release(): void {
    const dragged = this.#dragged;
    this.#dragged = undefined;
    if (typeof dragged === "object" && !dragged.hasMoved) this.actions.click(dragged.row);
  }

  #turn(yaw: number, pitch: number): void {
    const camera = this.#view?.camera;
    if (!(camera instanceof Turntable)) return;
    camera.turn(yaw, pitch);
    this.actions.turned();
  }

  #press(event: KeyboardEvent): void {
    const view = this.#view;
    if (!view || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = view.samples.views.flat();
    const [arrow, turn] = [ARROWS[event.key], TURNS[event.key.toLowerCase()]];
    const row = view.focus === undefined ? undefined : rows[view.focus];
    if (arrow && event.shiftKey && row && view.focus !== undefined) {
      const { x, y } = view.camera.place(row);
      this.actions.move(view.focus, view.camera.point(x + STEP * arrow[0], y + STEP * arrow[1], row));
    } else if (arrow) {
      const step = arrow[0] + arrow[1] > 0 ? 1 : -1;
      this.actions.focus(((view.focus ?? (step > 0 ? -1 : 0)) + step + rows.length) % rows.length);
    } else if ((event.key === "Enter" || event.key === "c") && view.focus !== undefined) {
      this.actions.paint(view.focus);
    } else if (event.key === "Escape") {
      this.actions.focus(undefined);
    } else if (turn && view.camera instanceof Turntable) {
      this.#turn(turn[0] * 0.15, turn[1] * 0.15);
    } else {
      return;
    }
    event.preventDefault();
  }
}
