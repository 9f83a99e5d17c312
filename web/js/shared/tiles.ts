// Draws pictures in tiles, to read their pixels.
import type { RgbaPixels } from "./protocol.js";

/** Side of the largest square that is drawn at once: a larger canvas is blank in some browsers, and none says so. */
const TILE = 4096;

/** A canvas in main memory: one on the GPU may round. */
export function drawing(width: number, height: number): OffscreenCanvasRenderingContext2D {
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("this browser offers no 2D canvas to read images with");
  return context;
}

/** A part of a picture that is drawn at the corner of a canvas. */
export type Draw = (context: OffscreenCanvasRenderingContext2D, left: number, top: number, across: number, down: number) => void;

/** The pixels of a picture that is drawn in tiles. */
export function inTiles(width: number, height: number, draw: Draw): RgbaPixels {
  const context = drawing(Math.min(width, TILE), Math.min(height, TILE));
  // A tile takes the place of the one before.
  context.globalCompositeOperation = "copy";
  const data = new Uint8ClampedArray(4 * width * height);
  for (let top = 0; top < height; top += TILE) {
    for (let left = 0; left < width; left += TILE) {
      const [across, down] = [Math.min(TILE, width - left), Math.min(TILE, height - top)];
      draw(context, left, top, across, down);
      const tile = context.getImageData(0, 0, across, down).data;
      for (let row = 0; row < down; row++) {
        data.set(tile.subarray(4 * across * row, 4 * across * (row + 1)), 4 * (width * (top + row) + left));
      }
    }
  }
  return { data, width, height };
}
