// Canvases that are sharp on any display.

/** Clears a canvas of so many CSS pixels, in which its context then counts. */
export function emptied(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | undefined {
  const context = canvas.getContext("2d");
  if (!context) return undefined;
  const [columns, rows] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
  // To set a size makes new memory, even where it is the same.
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
