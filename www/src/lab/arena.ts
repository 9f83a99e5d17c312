// One objective on the circle: its choice, its picture and its numbers.
import { OBJECTIVES, type ObjectiveName } from "./objectives.js";
import { measure, type Points } from "./points.js";

/** What an evaluation gave, along the circle. */
export interface Pull {
  readonly loss: number;
  /** Derivative of the loss by the angle of each point, first views and second views. */
  readonly slopes: readonly [readonly number[], readonly number[]];
}

const ARROW = 0.3;
const REACH = 0.09;

export class Arena {
  readonly element = document.createElement("section");
  readonly select = document.createElement("select");
  readonly #canvas = document.createElement("canvas");
  readonly #numbers = document.createElement("dl");
  #points: Points | undefined;
  #pull: Pull | undefined;
  #held: readonly [view: number, index: number] | undefined;

  /** `onDrag` is called with the view, the index and the angle of a point that is dragged. */
  constructor(label: string, onDrag: (view: number, index: number, angle: number) => void) {
    this.element.className = "panel arena";
    this.element.setAttribute("aria-label", label);
    this.select.setAttribute("aria-label", `Objective, ${label}`);
    for (const [name, { title }] of Object.entries(OBJECTIVES)) this.select.append(new Option(title, name));
    this.#canvas.className = "circle";
    this.#canvas.setAttribute("role", "img");
    this.#canvas.setAttribute("aria-label", "Points on a circle with the pull of the objective; the numbers follow");
    this.#numbers.className = "numbers";
    this.element.append(this.select, this.#canvas, this.#numbers);

    this.#canvas.addEventListener("pointerdown", (event) => {
      this.#held = this.#find(this.#place(event));
      if (this.#held) this.#canvas.setPointerCapture(event.pointerId);
    });
    this.#canvas.addEventListener("pointermove", (event) => {
      if (!this.#held) return;
      const [x, y] = this.#place(event);
      onDrag(...this.#held, Math.atan2(y, x));
    });
    for (const end of ["pointerup", "pointercancel"] as const) {
      this.#canvas.addEventListener(end, () => (this.#held = undefined));
    }
    new ResizeObserver(() => this.#paint()).observe(this.#canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
  }

  get objective(): ObjectiveName {
    return this.select.value as ObjectiveName;
  }

  set objective(name: ObjectiveName) {
    this.select.value = name;
  }

  show(points: Points, pull: Pull): void {
    this.#points = points;
    this.#pull = pull;
    const { alignment, uniformity, sharedColour } = measure(points);
    const numbers = {
      Loss: pull.loss.toFixed(3),
      Alignment: alignment.toFixed(3),
      Uniformity: uniformity.toFixed(2),
      "Shared colour": sharedColour.toFixed(2),
    };
    this.#numbers.replaceChildren(
      ...Object.entries(numbers).map(([name, value]) => {
        const pair = document.createElement("div");
        const [term, definition] = [document.createElement("dt"), document.createElement("dd")];
        term.textContent = name;
        definition.textContent = value;
        pair.append(term, definition);
        return pair;
      }),
    );
    this.#paint();
  }

  /** From the page to the plane of the unit circle. */
  #place({ offsetX, offsetY }: PointerEvent): readonly [number, number] {
    const radius = this.#radius();
    return [(offsetX - this.#canvas.clientWidth / 2) / radius, (offsetY - this.#canvas.clientHeight / 2) / radius];
  }

  #radius(): number {
    return Math.min(this.#canvas.clientWidth, this.#canvas.clientHeight) / 2 / (1 + ARROW);
  }

  #find([x, y]: readonly [number, number]): readonly [number, number] | undefined {
    const found = this.#points?.views
      .flatMap((angles, view) =>
        angles.map((angle, index) => ({ view, index, distance: Math.hypot(Math.cos(angle) - x, Math.sin(angle) - y) })),
      )
      .sort((a, b) => a.distance - b.distance)[0];
    return found && found.distance < REACH * 2 ? [found.view, found.index] : undefined;
  }

  #paint(): void {
    const context = this.#canvas.getContext("2d");
    if (!context || !this.#points || !this.#pull) return;
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    this.#canvas.width = width * devicePixelRatio;
    this.#canvas.height = height * devicePixelRatio;
    const radius = this.#radius();
    context.scale(devicePixelRatio, devicePixelRatio);
    context.translate(width / 2, height / 2);
    const style = getComputedStyle(this.#canvas);
    const { views, hues } = this.#points;
    const { slopes } = this.#pull;
    const [first, second] = views;

    context.strokeStyle = style.getPropertyValue("--line");
    context.beginPath();
    context.arc(0, 0, radius, 0, 2 * Math.PI);
    context.stroke();

    const colour = (index: number) => `hsl(${(hues[index] ?? 0) * 360} 70% 50%)`;
    first.forEach((angle, index) => {
      const other = second[index] ?? 0;
      context.strokeStyle = colour(index);
      context.globalAlpha = 0.5;
      context.beginPath();
      context.moveTo(radius * Math.cos(angle), radius * Math.sin(angle));
      context.lineTo(radius * Math.cos(other), radius * Math.sin(other));
      context.stroke();
    });
    context.globalAlpha = 1;

    const steepest = Math.max(1e-12, ...slopes.flat().map(Math.abs));
    views.forEach((angles, view) => {
      angles.forEach((angle, index) => {
        const [x, y] = [radius * Math.cos(angle), radius * Math.sin(angle)];
        // Downhill, along the circle.
        const length = (-(slopes[view]?.[index] ?? 0) / steepest) * ARROW * radius;
        arrow(context, x, y, -Math.sin(angle) * length, Math.cos(angle) * length, style.color);
        context.beginPath();
        context.arc(x, y, REACH * radius * (view === 0 ? 0.75 : 0.45), 0, 2 * Math.PI);
        context.fillStyle = view === 0 ? colour(index) : style.getPropertyValue("--raised");
        context.fill();
        context.lineWidth = 3;
        context.strokeStyle = colour(index);
        context.stroke();
        context.lineWidth = 1;
      });
    });
  }
}

function arrow(context: CanvasRenderingContext2D, x: number, y: number, dx: number, dy: number, colour: string): void {
  const length = Math.hypot(dx, dy);
  if (length < 2) return;
  const head = Math.min(7, length);
  const [ux, uy] = [dx / length, dy / length];
  context.strokeStyle = colour;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + dx, y + dy);
  context.moveTo(x + dx - head * (ux - 0.5 * uy), y + dy - head * (uy + 0.5 * ux));
  context.lineTo(x + dx, y + dy);
  context.lineTo(x + dx - head * (ux + 0.5 * uy), y + dy - head * (uy - 0.5 * ux));
  context.stroke();
}
