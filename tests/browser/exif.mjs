// Photographs that a camera noted as turned.

/** Runs in a page: the bytes of a picture in each format, as it is (`plain`) and with such a note (`noted`). */
export async function photographs() {
  // A picture that is not square, and that no turn leaves as it is.
  const canvas = new OffscreenCanvas(48, 32);
  const context = canvas.getContext("2d");
  context.fillStyle = "#2a6";
  context.fillRect(0, 0, 48, 32);
  context.fillStyle = "#d31";
  context.fillRect(3, 2, 20, 9);
  const plain = async (type) => new Uint8Array(await (await canvas.convertToBlob({ type })).arrayBuffer());

  const ascii = (text) => [...text].map((character) => character.charCodeAt(0));
  const big = (value) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  const little = (value) => big(value).reverse();
  const word = (view, at) => new DataView(view.buffer).getUint32(at);
  // One entry, the orientation (274) as a 16-bit number: 6, a quarter turn.
  const TIFF = [...ascii("MM"), 0, 42, ...big(8), 0, 1, 1, 18, 0, 3, ...big(1), 0, 6, 0, 0, ...big(0)];

  const jpeg = (bytes) => {
    const exif = [...ascii("Exif"), 0, 0, ...TIFF];
    // Beside another segment of the same marker, which stays.
    const other = [...ascii("other"), 0];
    const segment = (data) => [0xff, 0xe1, 0, data.length + 2, ...data];
    return [...bytes.slice(0, 2), ...segment(other), ...segment(exif), ...bytes.slice(2)];
  };
  const png = (bytes) => {
    const chunk = [...ascii("eXIf"), ...TIFF];
    let sum = 0xffffffff;
    for (const byte of chunk) {
      sum ^= byte;
      for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
    }
    // After the header, which ends at byte 33.
    return [...bytes.slice(0, 33), ...big(TIFF.length), ...chunk, ...big(~sum >>> 0), ...bytes.slice(33)];
  };
  const webp = (bytes) => {
    const isExtended = word(bytes, 12) === word(new Uint8Array(ascii("VP8X")), 0);
    const size = [47, 0, 0, 31, 0, 0];
    const header = isExtended ? bytes.slice(12, 30) : [...ascii("VP8X"), ...little(10), 0, 0, 0, 0, ...size];
    const rest = bytes.slice(isExtended ? 30 : 12);
    const chunk = [...ascii("EXIF"), ...little(TIFF.length), ...TIFF];
    const body = [...ascii("WEBP"), ...header, ...rest, ...chunk];
    // The flag of Exif.
    body[12] |= 8;
    return [...ascii("RIFF"), ...little(body.length), ...body];
  };

  const result = {};
  for (const [type, note] of Object.entries({ jpeg, png, webp })) {
    const bytes = await plain(`image/${type}`);
    result[type] = { plain: [...bytes], noted: [...note(bytes)] };
  }
  return result;
}

/**
 * Runs in a page with `window.encoder`: for each format whether this browser turns a picture with such a note, and the
 * largest difference of its vector from that of the same file without the note.
 */
export async function turned(photographs) {
  const result = {};
  for (const [type, { plain, noted }] of Object.entries(photographs)) {
    const blob = (content) => new Blob([new Uint8Array(content)], { type: `image/${type}` });
    const [as, once] = [blob(plain), blob(noted)];
    const { width } = await createImageBitmap(once);
    const [expected, vector] = [await window.encoder.embed(as), await window.encoder.embed(once)];
    const difference = Math.max(...expected.map((value, at) => Math.abs(value - vector[at])));
    result[type] = { isTurned: width === 32, difference };
  }
  return result;
}
