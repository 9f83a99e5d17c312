// Vectors in the file formats of `simile embed`.

/** A NumPy array of `float32`, format 1.0. */
export function toNpy(rows: readonly Float32Array[]): Uint8Array<ArrayBuffer> {
  const [count, length] = [rows.length, rows[0]?.length ?? 0];
  const dictionary = `{'descr': '<f4', 'fortran_order': False, 'shape': (${count}, ${length}), }`;
  const prefix = 10;
  // The header ends on a multiple of 64 bytes.
  const whole = Math.ceil((prefix + dictionary.length + 1) / 64) * 64;
  const header = `${dictionary.padEnd(whole - prefix - 1)}\n`;
  const bytes = new Uint8Array(whole + 4 * count * length);
  bytes.set([0x93, ...new TextEncoder().encode("NUMPY"), 1, 0]);
  const view = new DataView(bytes.buffer);
  view.setUint16(8, header.length, true);
  bytes.set(new TextEncoder().encode(header), prefix);
  rows.forEach((row, at) => {
    row.forEach((value, column) => view.setFloat32(whole + 4 * (at * length + column), value, true));
  });
  return bytes;
}

/** One line an image: its name, then its numbers. */
export function toCsv(names: readonly string[], rows: readonly Float32Array[]): string {
  const columns = Array.from(rows[0] ?? [], (_, at) => `v${at}`);
  const lines = rows.map((row, at) => [field(names[at] ?? ""), ...Array.from(row, shortest)]);
  return [["image", ...columns], ...lines].map((line) => `${line.join(",")}\n`).join("");
}

function field(name: string): string {
  return /[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

/** The fewest digits that read back to the same 32-bit number. */
function shortest(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return `${Number(text)}`;
  }
  return `${Number(value.toPrecision(9))}`;
}
