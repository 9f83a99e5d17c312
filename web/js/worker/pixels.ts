// The pixels of pictures.
import type { RgbaPixels } from "../shared/protocol.js";
import { type Draw, inTiles } from "../shared/tiles.js";

/** The pixels of a bitmap, which is closed. */
export function pixelsOf(picture: ImageBitmap | RgbaPixels): RgbaPixels {
  if (!(picture instanceof ImageBitmap)) return picture;
  const draw: Draw = (context, left, top, across, down) =>
    context.drawImage(picture, left, top, across, down, 0, 0, across, down);
  const pixels = inTiles(picture.width, picture.height, draw);
  picture.close();
  return pixels;
}
