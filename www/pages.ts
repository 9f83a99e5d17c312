/** A page of the site: its content is in `NAME.html` beside this file, its program in `src/NAME/main.ts`. */
export interface Page {
  readonly name: string;
  /** In the navigation. */
  readonly link: string;
  /** In the browser's bar, after the name of the site. */
  readonly title: string;
  readonly description: string;
  /** Shown while a file is dragged over a page that accepts files. */
  readonly drop?: string;
  /** A style sheet beside the one of all pages. */
  readonly style?: string;
}

/** In the order of the navigation. */
export const PAGES: readonly Page[] = [
  {
    name: "index",
    link: "Ask an encoder",
    title: "what is alike?",
    description:
      "Draw a digit and see what two encoders find alike: one goes by the colour of the background, the other was told to set it aside.",
    drop: "Drop an image or a checkpoint",
    style: "/src/index/index.css",
  },
  {
    name: "lab",
    link: "Touch a loss",
    title: "touch a loss",
    description:
      "Drag points and see how two contrastive objectives would move them: gradients, pair weights, kernel matrices, and the loss in its parts.",
    style: "/src/lab/lab.css",
  },
  {
    name: "train",
    link: "Train in the page",
    title: "train in the page",
    description:
      "Train two small encoders in this page, side by side: one finds the colour of a digit's background, the other is told to set it aside and finds the digit.",
    drop: "Drop a folder with a folder of images for each class",
    style: "/src/train/train.css",
  },
  {
    name: "embed",
    link: "Embed your images",
    title: "embed your images",
    description:
      "Drop a folder of images on an encoder: a map of them, search by example, and their vectors as .npy or CSV. Nothing is uploaded.",
    drop: "Drop images, folders or a checkpoint",
    style: "/src/embed/embed.css",
  },
];
