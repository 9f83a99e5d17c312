// The matrices of the kernel: the similarities of samples by their colours or by their points, and the weights computed from
// them.
import type { Conditioning, ListedKernel, LossLab, SampleWeights } from "simile-web";
import { element, setText } from "../element.js";
import { messageOf, withMinus } from "../words.js";
import { type Cell, Heatmap, NO_CELL, rangeOf } from "./heatmap.js";
import { byHue, conditions, type Samples } from "./samples.js";
import { makingOf, WEIGHT_SCHEME_TITLES, WEIGHT_SCHEMES, type WeightScheme } from "./weight-scheme.js";

/** The inputs of the matrices. */
export interface Weighing {
  /** The side with its objective, in words. */
  readonly title: string;
  readonly kernel: string;
  readonly weightScheme: WeightScheme;
  readonly conditioning: Conditioning;
  /** The name of the ridge. */
  readonly ridge: string;
  readonly comparesPoints: boolean;
}

export class KernelPanel {
  readonly #maps: readonly [Heatmap, Heatmap];
  readonly #kernel = element("kernel", HTMLSelectElement);
  readonly #weightScheme = element("weight-scheme", HTMLSelectElement);
  #weights: SampleWeights | undefined;
  #samples: Samples | undefined;
  #order: number[] = [];
  #cell: Cell | undefined;

  /** `onSamples` is called with the samples of the cell that is pointed at; `onChoice` with another kernel or weight scheme. */
  constructor(
    private readonly onSamples: (samples: readonly number[]) => void,
    kernels: readonly ListedKernel[],
    onChoice: (kernel: string, weightScheme: WeightScheme) => void,
  ) {
    const map = (label: string) => new Heatmap(label, "cell", (cell) => this.#point(cell));
    this.#maps = [map("Kernel matrix of the samples"), map("Weights of the samples")];
    element("gram", HTMLElement).append(this.#maps[0].canvas);
    element("weights", HTMLElement).append(this.#maps[1].canvas);
    for (const { name, title } of kernels) this.#kernel.append(new Option(title, name));
    for (const name of WEIGHT_SCHEMES) this.#weightScheme.append(new Option(WEIGHT_SCHEME_TITLES[name], name));
    for (const select of [this.#kernel, this.#weightScheme]) {
      select.addEventListener("change", () =>
        onChoice(this.#kernel.value, this.#weightScheme.value as WeightScheme),
      );
    }
  }

  /** Asks core for the matrices of the samples and shows them. Of points, the kernel compares the first views. */
  async update(lab: LossLab, samples: Samples, weighing: Weighing): Promise<void> {
    const { title, weightScheme, ridge, comparesPoints } = weighing;
    this.#kernel.value = weighing.kernel;
    this.#weightScheme.value = weightScheme;
    setText("gram-title", comparesPoints ? "how alike the first views of two samples are" : "how alike two colours are");
    setText("weights-title", makingOf(weightScheme, ridge));
    const note = element("kernel-note", HTMLElement);
    try {
      this.#weights = await lab.weigh(comparesPoints ? samples.views[0] : conditions(samples), weighing.conditioning);
      const mass = this.#shown().map((row, at) =>
        row.reduce((sum, weight, other) => sum + (other === at ? 0 : weight), 0),
      );
      const average = mass.reduce((sum, value) => sum + value, 0) / mass.length;
      const condition = this.#weights.condition.toPrecision(2);
      note.textContent =
        `${title}: a sample's weights on the others sum to ${withMinus(average.toPrecision(3))} on average; ` +
        `condition number of K + ${ridge}I: ${condition}.`;
    } catch (error) {
      this.#weights = undefined;
      note.textContent = messageOf(error);
    }
    this.#samples = samples;
    this.#order = byHue(samples.hues);
    this.#show();
  }

  /** Highlights the row of a sample, for other parts of the page. */
  mark(sample: number | undefined): void {
    const at = sample === undefined ? -1 : this.#order.indexOf(sample);
    this.#cell = at < 0 ? undefined : [at, at];
    this.#show();
  }

  /** The weights of the scheme that is chosen. */
  #shown() {
    return this.#weights?.[this.#weightScheme.value as WeightScheme] ?? [];
  }

  #point(cell: Cell | undefined): void {
    this.#cell = cell;
    this.onSamples(cell ? cell.map((at) => this.#order[at] ?? 0) : []);
    this.#show();
  }

  #show(): void {
    const [samples, weights] = [this.#samples, this.#weights];
    if (!samples) return;
    const [order, hues, cell] = [this.#order, samples.hues, this.#cell];
    const matrices = [weights?.gram ?? [], this.#shown()];
    matrices.forEach((values, at) => {
      const largest = Math.max(1e-12, ...values.flat().map(Math.abs));
      this.#maps[at]?.show({ values, order, hues, cell, largest });
      element(at === 0 ? "gram-range" : "weights-range", HTMLElement).textContent = rangeOf(values.flat());
    });
    const [i, j] = cell?.map((at) => order[at] ?? 0) ?? [];
    const value = (values: readonly (readonly number[])[]) => withMinus((values[i ?? 0]?.[j ?? 0] ?? 0).toPrecision(3));
    const text =
      cell && weights
        ? `Samples ${(i ?? 0) + 1} and ${(j ?? 0) + 1}: K = ${value(weights.gram)}, weight = ${value(this.#shown())}`
        : NO_CELL;
    setText("cell", text);
  }
}

