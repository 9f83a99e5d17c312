// The drawing area: one dark stroke after the other on a coloured ground.

/** Grounds to choose from, name and colour: those of the digits that core draws. */
export const GROUNDS = [
  ["Orange", "#ff7f0e"],
  ["Red", "#d62728"],
  ["Pink", "#e377c2"],
  ["Purple", "#9467bd"],
  ["Blue", "#1f77b4"],
  ["Cyan", "#17becf"],
  ["Green", "#2ca02c"],
  ["Olive", "#bcbd22"],
  ["Brown", "#8c564b"],
  ["Grey", "#7f7f7f"],
] as const;

const STROKE_SHARE = 0.085;

type Point = readonly [x: number, y: number];

/** What the pad shows: strokes, or a picture that was taken over. */
export class Pad {
  /** Called after each change, while the pointer moves too. */
  onChange: () => void = () => {};

  readonly #context: CanvasRenderingContext2D;
  #strokes: Point[][] = [];
  #picture: ImageBitmap | undefined;
  #ground: string = GROUNDS[0][1];

  constructor(readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (!context) throw new Error("this browser has no 2D canvas");
    this.#context = context;
    canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    canvas.addEventListener("pointermove", (event) => this.#extend(event));
    this.#paint();
  }

  /** What to embed: the picture itself, not its enlargement. */
  get image(): HTMLCanvasElement | ImageBitmap {
    return this.#picture ?? this.canvas;
  }

  /** Whether a picture is shown, which brings its own ground. */
  get showsPicture(): boolean {
    return this.#picture !== undefined;
  }

  get isEmpty(): boolean {
    return this.#strokes.length === 0 && !this.#picture;
  }

  set ground(colour: string) {
    this.#ground = colour;
    this.#change();
  }

  clear(): void {
    this.#strokes = [];
    this.#picture = undefined;
    this.#change();
  }

  /** Shows a picture in place of the strokes. */
  show(picture: ImageBitmap): void {
    this.#strokes = [];
    this.#picture = picture;
    this.#change();
  }

  #begin(event: PointerEvent): void {
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    this.#picture = undefined;
    this.#strokes.push([this.#pointOf(event)]);
    this.#change();
  }

  #extend(event: PointerEvent): void {
    if (!this.canvas.hasPointerCapture(event.pointerId)) return;
    const stroke = this.#strokes.at(-1);
    for (const part of event.getCoalescedEvents()) stroke?.push(this.#pointOf(part));
    stroke?.push(this.#pointOf(event));
    this.#change();
  }

  #pointOf({ clientX, clientY }: PointerEvent): Point {
    const box = this.canvas.getBoundingClientRect();
    const scale = this.canvas.width / box.width;
    return [(clientX - box.left) * scale, (clientY - box.top) * scale];
  }

  #change(): void {
    this.#paint();
    this.onChange();
  }

  #paint(): void {
    const { width, height } = this.canvas;
    const context = this.#context;
    context.fillStyle = this.#ground;
    context.fillRect(0, 0, width, height);
    if (this.#picture) {
      // Small digits are shown as the encoder sees them, photographs as photographs.
      context.imageSmoothingEnabled = this.#picture.width > width / 4;
      context.drawImage(this.#picture, 0, 0, width, height);
    }
    context.lineWidth = width * STROKE_SHARE;
    context.lineCap = "round";
    context.lineJoin = "round";
    for (const [first, ...rest] of this.#strokes) {
      if (!first) continue;
      context.beginPath();
      context.moveTo(...first);
      for (const point of rest.length > 0 ? rest : [first]) context.lineTo(...point);
      context.stroke();
    }
  }
}
