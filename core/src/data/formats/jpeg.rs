//! The headers of a JPEG that zune-jpeg 0.5.15, as image 0.25.10 calls it, reads otherwise than libjpeg, which Pillow uses.

/// The first byte of a marker.
const MARK: u8 = 0xff;
/// The marker of the end.
const END: [u8; 2] = [MARK, 0xd9];
/// The names of the channels of a picture that is stored as RGB.
const RGB: [u8; 3] = *b"RGB";

/// A channel of the frame.
struct Channel {
    name: u8,
    /// Samples in a row and in a column, relative to those of the other channels.
    across: u8,
    down: u8,
}

/// The headers up to the first scan.
#[derive(Default)]
pub(super) struct Headers<'a> {
    /// Another marker for the frame: the scans after the first one add to its pixels.
    is_progressive: bool,
    channels: Vec<Channel>,
    /// True if there is a header of JFIF, in which colours are luma and chroma.
    is_jfif: bool,
    /// The conversion that Adobe's header names: 0 for none, 1 for luma and chroma, 2 for these with black.
    adobe: Option<u8>,
    /// Number of channels in the first scan.
    scan_channels: usize,
    /// The bytes after the head of the first scan.
    scan: &'a [u8],
}

impl<'a> Headers<'a> {
    /// Reads the headers. `None` for a file that ends in them, which the decoder reports. Other segments are passed over, because a
    /// thumbnail in one of them is a JPEG with headers of its own.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut headers = Self::default();
        let mut rest = bytes.get(2..)?;
        loop {
            let at = rest.windows(2).position(|pair| pair[0] == MARK && !matches!(pair[1], 0 | MARK))?;
            let ([_, marker, high, low], content) = rest[at..].split_first_chunk::<4>()?;
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            rest = rest.get(at + 2 + length..).unwrap_or_default();
            let content = content.get(..length.saturating_sub(2)).unwrap_or(content);
            match *marker {
                0xc0..=0xc2 => {
                    headers.is_progressive = *marker == 0xc2;
                    headers.channels = channels(content);
                }
                0xe0 => headers.is_jfif |= content.len() >= 14 && content.starts_with(b"JFIF\0"),
                0xee if content.starts_with(b"Adobe") => {
                    headers.adobe = content.get(11).copied().or(headers.adobe);
                }
                0xda => {
                    headers.scan_channels = content.first().copied().unwrap_or(0).into();
                    headers.scan = rest;
                    return Some(headers);
                }
                _ => {}
            }
        }
    }

    /// The fault of a file that the decoder accepts although it is broken, or reads otherwise than libjpeg.
    ///
    /// The decoder fills a file that ends early with grey, which Pillow refuses, except for some that lack the marker of the end
    /// alone. Of one that is not progressive and has its colours in separate scans, it makes garbage where they differ in size or
    /// have restart markers.
    pub(super) fn fault(&self) -> Option<&'static str> {
        // Other bytes may follow the end, so that it is not always the last.
        if !self.scan.windows(2).rev().any(|pair| pair == END) {
            return Some("it is cut off: its pixels are not followed by the marker of the end; get it again");
        }
        if !self.is_progressive && self.scan_channels < self.channels.len() {
            return Some("its colours lie in separate scans, which are not read; save it anew as PNG");
        }
        if !self.has_known_sizes() {
            return Some(
                "its colours are stored with more pixels than its brightness, or in sizes that do not fit together, which is \
                 not read; save it anew as PNG",
            );
        }
        match (self.channels.len(), self.adobe) {
            (2, _) => Some("it has two channels, which is neither grey nor colour; save it anew as PNG"),
            (4, Some(1)) => Some("its four inks are marked as three colours; save it anew as PNG"),
            _ => None,
        }
    }

    /// True if the decoder enlarges the smaller channels as libjpeg does: those of other sizes come out as garbage. Tried with all
    /// sizes of three channels, 2026-11-28.
    fn has_known_sizes(&self) -> bool {
        let [first, _, ..] = self.channels.as_slice() else { return true };
        let largest = |size: fn(&Channel) -> u8| self.channels.iter().map(size).max().unwrap_or(1);
        let (across, down) = (largest(|channel| channel.across), largest(|channel| channel.down));
        // The decoder reports a size of 0.
        let fits = |channel: &Channel| {
            across.checked_rem(channel.across).unwrap_or(0) == 0
                && down.checked_rem(channel.down).unwrap_or(0) == 0
        };
        let factors: Vec<[u8; 2]> = (self.channels.iter())
            .map(|channel| [across / channel.across.max(1), down / channel.down.max(1)])
            .collect();
        // Rows that are enlarged twofold wait for the next row; those that are enlarged further do not.
        let waits = factors.iter().any(|factor| matches!(factor, [1 | 2, 2]));
        let does_not = factors.iter().any(|factor| !matches!(factor, [1 | 2, 1 | 2]));
        first.across == across && self.channels.iter().all(fits) && !(waits && does_not)
    }

    /// True if the decoder takes luma and chroma for RGB: libjpeg believes the header of JFIF, then Adobe's, and the names of the
    /// channels last.
    pub(super) fn is_misread_as_rgb(&self) -> bool {
        let are_named = self.channels.iter().map(|channel| channel.name).eq(RGB);
        let is_decoded_as_rgb = self.channels.len() == 3 && (are_named || self.adobe == Some(0));
        let is_rgb = !self.is_jfif && self.adobe.map_or(are_named, |conversion| conversion == 0);
        is_decoded_as_rgb && !is_rgb
    }
}

/// The channels of a frame: the depth, both sides and their number precede them.
fn channels(frame: &[u8]) -> Vec<Channel> {
    let count = frame.get(5).copied().unwrap_or(0).into();
    let of = |entry: &[u8; 3]| Channel { name: entry[0], across: entry[1] >> 4, down: entry[1] & 15 };
    frame.get(6..).unwrap_or_default().as_chunks::<3>().0.iter().take(count).map(of).collect()
}

/// Luma and two chroma channels to RGB, in place, with the equation of JFIF.
pub(super) fn to_rgb(pixels: &mut [u8]) {
    for pixel in pixels.as_chunks_mut::<3>().0 {
        let [luma, blue, red] = pixel.map(f32::from);
        let (blue, red) = (blue - 128.0, red - 128.0);
        let rgb = [luma + 1.402 * red, luma - 0.344_136 * blue - 0.714_136 * red, luma + 1.772 * blue];
        *pixel = rgb.map(|value| value.round() as u8);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::picture::decode;
    use super::*;

    /// A JPEG of 16 x 16 pixels, each of whose blocks has one colour.
    #[derive(Clone, Copy)]
    struct File<'a> {
        frame: u8,
        /// Headers before the frame.
        head: &'a [u8],
        names: &'a [u8],
        /// Samples across and down, in four bits each.
        sizes: &'a [u8],
        /// Channels, counted from 0, and bits of each scan. A difference of 32 to 63 is `10` with its six bits; none, and the end of
        /// a block, are `0`.
        scans: &'a [(&'a [usize], &'a [u8])],
    }

    /// Luma of 16 x 16 and chroma of 8 x 8, in one scan.
    const PLAIN: File<'static> = File {
        frame: 0xc0,
        head: &[],
        names: &[1, 2, 3],
        sizes: &[0x22, 0x11, 0x11],
        scans: &[(&[0, 1, 2], &[0xa8, 0x4b, 0x82, 0x5c, 0x7f])],
    };
    const JFIF: &[u8] = b"\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0";
    const ADOBE: &[u8] = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0";

    impl File<'_> {
        fn bytes(self) -> Vec<u8> {
            let count = self.names.len() as u8;
            let mut bytes = [&[0xff, 0xd8], self.head, &[0xff, 0xdb, 0, 67, 0], &[16; 64]].concat();
            bytes.extend([0xff, self.frame, 0, 8 + 3 * count, 8, 0, 16, 0, 16, count]);
            bytes.extend(self.names.iter().zip(self.sizes).flat_map(|(name, size)| [*name, *size, 0]));
            bytes.extend([0xff, 0xc4, 0, 21, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6]);
            bytes.extend([0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            for (channels, bits) in self.scans {
                let count = channels.len() as u8;
                bytes.extend([0xff, 0xda, 0, 6 + 2 * count, count]);
                bytes.extend(channels.iter().flat_map(|&channel| [self.names[channel], 0]));
                // A progressive picture may end after the mean of each block.
                bytes.extend([0, if self.frame == 0xc2 { 0 } else { 63 }, 0]);
                bytes.extend(*bits);
            }
            bytes.extend(END);
            bytes
        }

        fn pixels(self) -> Vec<u8> {
            decode(&self.bytes()).unwrap().pixels
        }

        fn complaint(self) -> String {
            decode(&self.bytes()).unwrap_err().to_string()
        }
    }

    /// The first and the last pixel, which Pillow has read.
    fn assert_ends(pixels: &[u8], ends: [[u8; 3]; 2], what: &str) {
        let corners = [&pixels[..3], &pixels[pixels.len() - 3..]];
        let near = corners.iter().zip(ends).all(|(a, b)| a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= 2));
        assert!(near, "{what}: {corners:?} instead of {ends:?}");
    }

    const LUMA_CHROMA: [[u8; 3]; 2] = [[208, 236, 66], [128, 156, 0]];
    const AS_RGB: [[u8; 3]; 2] = [[208, 48, 128], [128, 48, 128]];

    #[test]
    fn a_jpeg_with_a_scan_for_each_colour_is_read_right_or_refused() {
        let pixels = PLAIN.pixels();
        assert_ends(&pixels, LUMA_CHROMA, "one scan");
        let progressive: [(&[usize], &[u8]); 3] =
            [(&[0], &[0xa8, 0x97, 0x3f]), (&[1], &[0x97]), (&[2], &[0x7f])];
        assert_eq!(File { frame: 0xc2, scans: &progressive, ..PLAIN }.pixels(), pixels);
        let each: [(&[usize], &[u8]); 3] =
            [(&[0], &[0xa8, 0x4b, 0x83]), (&[1], &[0x97, 0x7f]), (&[2], &[0x3f])];
        let grey_first: [(&[usize], &[u8]); 2] = [(&[0], &[0xa8, 0x4b, 0x83]), (&[1, 2], &[0x97, 0x1f])];
        for (frame, scans) in [(0xc0, each.as_slice()), (0xc1, &each), (0xc0, &grey_first)] {
            let error = File { frame, scans, ..PLAIN }.complaint();
            assert!(error.contains("separate scans") && error.contains("save it anew"), "{error}");
        }
    }

    #[test]
    fn the_markers_and_the_names_of_the_channels_tell_the_colours_as_for_libjpeg() {
        let adobe = |conversion: u8| [ADOBE, &[conversion]].concat();
        let files = [
            ("no marker", &[1, 2, 3], vec![], LUMA_CHROMA),
            ("names", b"RGB", vec![], AS_RGB),
            ("other letters", b"rgb", vec![], LUMA_CHROMA),
            ("Adobe, none", &[1, 2, 3], adobe(0), AS_RGB),
            ("names, Adobe, none", b"RGB", adobe(0), AS_RGB),
            ("names, JFIF", b"RGB", JFIF.to_vec(), LUMA_CHROMA),
            ("names, Adobe, luma", b"RGB", adobe(1), LUMA_CHROMA),
            ("JFIF, Adobe, none", &[1, 2, 3], [JFIF, &adobe(0)].concat(), LUMA_CHROMA),
            ("Adobe, none, JFIF", b"RGB", [&adobe(0), JFIF].concat(), LUMA_CHROMA),
        ];
        for (what, names, head, ends) in files {
            assert_ends(&File { names, head: &head, ..PLAIN }.pixels(), ends, what);
        }
    }

    #[test]
    fn colours_with_more_pixels_than_the_brightness_are_refused() {
        let sized = |sizes| File { sizes, ..PLAIN };
        for sizes in [&[0x11, 0x22, 0x22], &[0x11, 0x21, 0x21], &[0x12, 0x21, 0x11], &[0x41, 0x11, 0x22]] {
            let error = sized(sizes).complaint();
            assert!(error.contains("more pixels than its brightness") && error.contains("PNG"), "{error}");
        }
        let named = File { names: b"RGB", sizes: &[0x11, 0x22, 0x11], ..PLAIN };
        assert!(named.complaint().contains("more pixels than its brightness"));
        // The sizes of ordinary files, and rarer ones that are read.
        for sizes in
            [&[0x11; 3], &[0x22, 0x11, 0x11], &[0x21, 0x11, 0x11], &[0x12, 0x11, 0x11], &[0x22, 0x21, 0x12]]
        {
            assert!(Headers::read(&sized(sizes).bytes()).unwrap().fault().is_none(), "{sizes:x?}");
        }
    }

    #[test]
    fn channels_that_are_no_colour_are_refused() {
        let two = File { names: &[1, 2], sizes: &[0x11; 2], scans: &[(&[0, 1], &[0x57])], ..PLAIN };
        assert!(two.complaint().contains("two channels"));
        let marked = [ADOBE, &[1]].concat();
        let four = File { names: &[1, 2, 3, 4], sizes: &[0x11; 4], head: &marked, ..two };
        let four = File { scans: &[(&[0, 1, 2, 3], &[0x57, 0x7f])], ..four };
        assert!(four.complaint().contains("four inks"), "{}", four.complaint());
    }
}
