// The checkpoints that come with the site.

export interface Shipped {
  readonly title: string;
  readonly note: string;
  /** The address of the file. */
  readonly source: string;
}

export const SHIPPED: readonly Shipped[] = [
  {
    title: "Fair-CCLK",
    note: "told to set the colour of the background aside",
    source: "./checkpoints/fair-digits.safetensors",
  },
  {
    title: "SimCLR (NT-Xent)",
    note: "told nothing of colours",
    source: "./checkpoints/simclr.safetensors",
  },
];
