// Pictures as lists of shapes, painted on a canvas or written as SVG.
import { emptied } from "./canvas.js";

export type Shape =
  | {
      readonly kind: "line";
      readonly points: readonly Point[];
      readonly colour: string;
      readonly width?: number;
      readonly opacity?: number;
    }
  | {
      readonly kind: "disc" | "square";
      readonly at: Point;
      readonly radius: number;
      readonly fill: string;
      readonly colour: string;
      readonly width?: number;
      readonly opacity?: number;
    }
  | {
      readonly kind: "text";
      readonly at: Point;
      readonly text: string;
      readonly colour: string;
      readonly align?: "start" | "middle" | "end";
    };

export type Point = readonly [x: number, y: number];

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly shapes: readonly Shape[];
}

const FONT = "12px system-ui, sans-serif";

/** Paints a picture over a whole canvas, sharp on any display. */
export function paint(canvas: HTMLCanvasElement, { width, height, shapes }: Picture): void {
  const context = emptied(canvas, width, height);
  if (!context) return;
  for (const shape of shapes) paintShape(context, shape);
}

function paintShape(context: CanvasRenderingContext2D, shape: Shape): void {
  if (shape.kind === "text") {
    context.font = FONT;
    context.fillStyle = shape.colour;
    context.textAlign = shape.align === "middle" ? "center" : (shape.align ?? "start");
    context.fillText(shape.text, ...shape.at);
    return;
  }
  context.globalAlpha = shape.opacity ?? 1;
  context.strokeStyle = shape.colour;
  context.lineWidth = shape.width ?? 1;
  context.lineJoin = "round";
  context.beginPath();
  if (shape.kind === "line") {
    for (const [x, y] of shape.points) context.lineTo(x, y);
  } else {
    const [[x, y], radius] = [shape.at, shape.radius];
    if (shape.kind === "disc") context.arc(x, y, radius, 0, 2 * Math.PI);
    else context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
    context.fillStyle = shape.fill === "none" ? "transparent" : shape.fill;
    context.fill();
  }
  if (shape.width !== 0) context.stroke();
  context.globalAlpha = 1;
}

/** Pictures side by side as an SVG file. */
export function toSvg(pictures: readonly Picture[], background: string): string {
  const height = Math.max(...pictures.map((picture) => picture.height));
  let left = 0;
  const groups = pictures.map(({ width, shapes }) => {
    const group = `<g transform="translate(${left} 0)">${shapes.map(svgOf).join("")}</g>`;
    left += width;
    return group;
  });
  const size = `width="${round(left)}" height="${round(height)}" viewBox="0 0 ${round(left)} ${round(height)}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><rect width="100%" height="100%" fill="${background}"/>${groups.join("")}</svg>`;
}

function svgOf(shape: Shape): string {
  if (shape.kind === "text") {
    const [x, y] = shape.at.map(round);
    const text = shape.text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    return `<text x="${x}" y="${y}" font-family="sans-serif" font-size="12" text-anchor="${shape.align ?? "start"}" fill="${shape.colour}">${text}</text>`;
  }
  const style = `stroke="${shape.colour}" stroke-width="${round(shape.width ?? 1)}" opacity="${round(shape.opacity ?? 1)}"`;
  if (shape.kind === "line") {
    return `<polyline points="${shape.points.map((point) => point.map(round).join()).join(" ")}" fill="none" ${style}/>`;
  }
  const [[x, y], radius] = [shape.at, shape.radius];
  const place =
    shape.kind === "disc"
      ? `<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}"`
      : `<rect x="${round(x - radius)}" y="${round(y - radius)}" width="${round(2 * radius)}" height="${round(2 * radius)}"`;
  return `${place} fill="${shape.fill}" ${style}/>`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
