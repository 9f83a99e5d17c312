//! Geometry of the windows of a convolution.

/// A convolution of maps `[n, height, width, inputs]` with a weight `[outputs, inputs, kernel, kernel]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Number of images.
    pub n: usize,
    pub height: usize,
    pub width: usize,
    /// Channels of the maps.
    pub inputs: usize,
    /// Channels of the result.
    pub outputs: usize,
    /// Side of the kernel.
    pub kernel: usize,
    /// Number of positions from one window to the next.
    pub stride: usize,
    /// Zeros around a map on each side.
    pub padding: usize,
}

impl Geometry {
    /// True if there is a window, and so a result.
    pub(crate) fn is_valid(&self) -> bool {
        let fits = |side: usize| side + 2 * self.padding >= self.kernel;
        let none = self.n * self.inputs * self.outputs * self.kernel * self.stride == 0;
        !none && fits(self.height) && fits(self.width)
    }

    /// Height and width of the result.
    pub(crate) fn sides(&self) -> [usize; 2] {
        [self.height, self.width]
            .map(|side| (side + 2 * self.padding).saturating_sub(self.kernel) / self.stride + 1)
    }

    /// Shape of the result.
    pub(crate) fn shape(&self) -> [usize; 4] {
        let [height, width] = self.sides();
        [self.n, height, width, self.outputs]
    }

    /// Number of positions of the result of one image.
    pub(crate) fn places(&self) -> usize {
        let [height, width] = self.sides();
        height * width
    }

    /// Number of values of the result.
    pub(crate) fn results(&self) -> usize {
        self.n * self.places() * self.outputs
    }

    /// Number of values of the maps of one image.
    pub(crate) fn image(&self) -> usize {
        self.height * self.width * self.inputs
    }

    /// Entries of the kernel for one input and one output.
    pub(crate) fn taps(&self) -> usize {
        self.kernel * self.kernel
    }

    /// Number of values of a window.
    pub(crate) fn window(&self) -> usize {
        self.taps() * self.inputs
    }

    /// Number of values of the weight.
    pub(crate) fn weights(&self) -> usize {
        self.window() * self.outputs
    }
}
