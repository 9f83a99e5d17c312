// Canvases that are sharp on any display.

/** Clears a canvas and sets its size in CSS pixels, which are then the units of its context. */
export function emptied(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | undefined {
  const context = canvas.getContext("2d");
  if (!context) return undefined;
  const [columns, rows] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
  // Setting a size allocates new memory, even if the size is the same.
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
