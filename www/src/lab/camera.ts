// Projections of points of any dimension to a plane, and from a place in the plane back to a point.
import { Projection } from "../projection.js";
import { atOnce } from "../slices.js";
import { add, dot, type Row, unit } from "./rows.js";
import type { Samples } from "./samples.js";

/** A place in the picture, in units of the sphere's radius, and how near it is to the viewer. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly depth: number;
}

export interface Camera {
  /** The picture of a point or of a direction. */
  place(row: Row): Place;
  /** The point under a place that is nearest to `row`. */
  point(x: number, y: number, row: Row): number[];
}

/** The circle as it is. */
export const FLAT: Camera = {
  place: ([x = 0, y = 0]) => ({ x, y, depth: 1 }),
  point: (x, y) => unit([x, y]),
};

/** A sphere that can be turned. */
export class Turntable implements Camera {
  #yaw = 0.5;
  #pitch = 0.35;

  turn(yaw: number, pitch: number): void {
    this.#yaw += yaw;
    this.#pitch = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, this.#pitch + pitch));
  }

  place(row: Row): Place {
    const [right, up, towards] = this.#axes();
    return { x: dot(row, right), y: dot(row, up), depth: dot(row, towards) };
  }

  point(x: number, y: number, row: Row): number[] {
    const [right, up, towards] = this.#axes();
    const inside = 1 - x * x - y * y;
    // A point stays on the side of the sphere on which it was taken.
    const depth = inside > 0 ? Math.sqrt(inside) * (this.place(row).depth < 0 ? -1 : 1) : 0;
    return unit(add(add(add([0, 0, 0], right, x), up, y), towards, depth));
  }

  #axes(): readonly [Row, Row, Row] {
    const [cy, sy, cp, sp] = [Math.cos(this.#yaw), Math.sin(this.#yaw), Math.cos(this.#pitch), Math.sin(this.#pitch)];
    return [
      [cy, sy, 0],
      [-sy * sp, cy * sp, cp],
      [sy * cp, -cy * cp, sp],
    ];
  }
}

/** The plane of the two main directions of the samples at the time of construction. */
export class MainPlane implements Camera {
  readonly #axes: readonly [Row, Row];

  constructor({ views }: Samples) {
    const [first, second] = atOnce(Projection.fit(views.flat().map((row) => Float32Array.from(row)))).axes;
    this.#axes = [Array.from(first), Array.from(second)];
  }

  place(row: Row): Place {
    return { x: dot(row, this.#axes[0]), y: dot(row, this.#axes[1]), depth: 1 };
  }

  point(x: number, y: number, row: Row): number[] {
    const now = this.place(row);
    return unit(add(add(row, this.#axes[0], x - now.x), this.#axes[1], y - now.y));
  }
}

export function cameraFor(samples: Samples): Camera {
  const dims = samples.views[0][0]?.length ?? 2;
  if (dims === 2) return FLAT;
  return dims === 3 ? new Turntable() : new MainPlane(samples);
}
