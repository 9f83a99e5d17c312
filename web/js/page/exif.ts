// Takes the Exif block out of an encoded picture, without decoding it.
//
// A browser turns a photograph by the orientation that a camera noted in Exif. `simile`, torchvision and Pillow do not:
// they take the pixels as stored, and encoders learn from those.

/** Part of a file that is searched: Exif precedes the pixels in JPEG and PNG, mostly as the first block. */
const HEADER = 256 * 1024;

/** Bytes `from` up to `to` of a file, and what replaces them. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

/**
 * The picture without Exif, so that a browser decodes its pixels as stored. JPEG is covered, PNG where Exif precedes the
 * pixels, and WebP; other files are returned as they are, as are those without Exif.
 */
export async function withoutExif(picture: Blob): Promise<Blob> {
  const header = new DataView(await picture.slice(0, HEADER).arrayBuffer());
  const edits = await editsOf(picture, header);
  if (edits.length === 0) return picture;
  const parts: BlobPart[] = [];
  let at = 0;
  for (const { from, to, by } of edits) {
    parts.push(picture.slice(at, from), by);
    at = to;
  }
  return new Blob([...parts, picture.slice(at)], { type: picture.type });
}

async function editsOf(picture: Blob, header: DataView): Promise<Edit[]> {
  if (textAt(header, 0, 3) === "\xff\xd8\xff") return [...editsOfJpeg(header)];
  if (textAt(header, 0, 8) === "\x89PNG\r\n\x1a\n") return [...editsOfPng(header)];
  if (textAt(header, 0, 4) === "RIFF" && textAt(header, 8, 8) === "WEBPVP8X") return editsOfWebp(picture, header);
  return [];
}

/** Segments: a marker of two bytes, and a length that counts itself. */
function* editsOfJpeg(header: DataView): Iterable<Edit> {
  const [APP1, SCAN] = [0xe1, 0xda];
  let at = 2;
  while (at + 4 <= header.byteLength && header.getUint8(at) === 0xff) {
    const marker = header.getUint8(at + 1);
    // A marker may follow any number of bytes 0xff.
    if (marker === 0xff) {
      at++;
      continue;
    }
    if (marker === SCAN) return;
    const end = at + 2 + header.getUint16(at + 2);
    if (marker === APP1 && textAt(header, at + 4, 5) === "Exif\0") yield { from: at, to: end, by: "" };
    at = end;
  }
}

/** Chunks: a length, a type, the data and a checksum of four bytes. */
function* editsOfPng(header: DataView): Iterable<Edit> {
  let at = 8;
  while (at + 8 <= header.byteLength) {
    const type = textAt(header, at + 4, 4);
    if (type === "IDAT") return;
    const end = at + 12 + header.getUint32(at);
    if (type === "eXIf") yield { from: at, to: end, by: "" };
    at = end;
  }
}

/**
 * Chunks: a type, a length and the data, padded to an even length. Exif follows the pixels; its chunk is renamed, because
 * the length of the file stands in the header, and decoders skip types that they do not know.
 */
async function editsOfWebp(picture: Blob, header: DataView): Promise<Edit[]> {
  const EXIF_FLAG = 0x08;
  if (header.byteLength < 30 || !(header.getUint8(20) & EXIF_FLAG)) return [];
  let at = 12;
  while (at + 8 <= picture.size) {
    const chunk = new DataView(await picture.slice(at, at + 8).arrayBuffer());
    if (textAt(chunk, 0, 4) === "EXIF") return [{ from: at, to: at + 4, by: "none" }];
    const length = chunk.getUint32(4, true);
    at += 8 + length + (length % 2);
  }
  return [];
}

/** Bytes as characters of the same numbers; fewer at the end of the file. */
function textAt({ buffer, byteLength }: DataView, at: number, length: number): string {
  return String.fromCharCode(...new Uint8Array(buffer).subarray(at, Math.min(at + length, byteLength)));
}
