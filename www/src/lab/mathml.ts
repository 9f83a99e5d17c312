// Builds MathML as text, in the few forms that the formulas need.

export const mi = (name: string) => `<mi>${name}</mi>`;
export const mo = (sign: string) => `<mo>${sign}</mo>`;
export const mn = (value: number | string) => `<mn>${value}</mn>`;
export const row = (...parts: readonly string[]) => `<mrow>${parts.join("")}</mrow>`;
export const sub = (base: string, script: string) => `<msub>${base}${script}</msub>`;
export const sup = (base: string, script: string) => `<msup>${base}${script}</msup>`;
export const fraction = (above: string, below: string) => `<mfrac>${above}${below}</mfrac>`;

/** Indices such as `ij`, or `ii'` for the other view of the sample. */
export const index = (letters: string) =>
  row(...Array.from(letters, (letter) => (letter === "'" ? mo("′") : mi(letter))));

/** The scaled cosine of two points. */
export const similarity = (letters: string) => sub(mi("s"), index(letters));
export const exponential = (letters: string) => sup(mi("e"), similarity(letters));
export const sum = (range: string, term: string) => row(`<munder>${mo("∑")}${range}</munder>`, term);
export const log = (term: string) => row(mi("log"), mo("&#x2061;"), term);
export const bracket = (...parts: readonly string[]) => row(mo("("), ...parts, mo(")"));

/** The mean over anchors. */
export const mean = (term: string) => row(mo("⟨"), term, mo("⟩"));

/** `a ≠ b`, `a ∈ S` and the like under a sum. */
export const relation = (left: string, sign: string, right: string) => row(left, mo(sign), right);

/** A term with its current value below it. */
export const live = (term: string, name: string) =>
  `<munder><mrow class="part">${term}</mrow><mtext data-live="${name}">…</mtext></munder>`;

export const equation = (...parts: readonly string[]) => `<math display="block">${row(...parts)}</math>`;
