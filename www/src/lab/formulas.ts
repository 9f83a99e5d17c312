// The formula of each objective, its positive and its negative part apart, as core documents it.
import type { Offered } from "./catalogue.js";
import { ESTIMATE_TITLES, type Estimate } from "./estimates.js";
import {
  bracket,
  exponential,
  fraction,
  index,
  log,
  mean,
  mi,
  mn,
  mo,
  relation,
  row,
  similarity,
  sub,
  sum,
  sup,
} from "./mathml.js";

export interface Formula {
  readonly positive?: string;
  readonly negative?: string;
  /** For an objective without such parts. */
  readonly whole?: string;
  /** The meaning of further symbols, beside the common ones. */
  readonly where?: string;
}

const own = similarity("ii'");
const minus = (term: string) => row(mo("−"), term);
const others = sum(relation(mi("j"), "≠", mi("i")), exponential("ij"));
const otherSamples = sum(relation(mi("j"), "≠", row(mi("i"), mo(","), index("i'"))), exponential("ij"));
const ownPair = minus(mean(own));
const weight = (letters: string) => sub(mi("w"), index(letters));
const positives = fraction(
  sum(relation(mi("p"), "∈", row(mi("P"), bracket(mi("i")))), similarity("ip")),
  row(mo("|"), mi("P"), bracket(mi("i")), mo("|")),
);
const times = (factor: string, term: string) => row(factor, mo("·"), term);
const releasedFactor = fraction(mi("τ"), mn("0.07"));
const scaled = (variant: string, term: string) =>
  variant === "released" ? times(releasedFactor, bracket(term)) : term;
const mixed = (ofClass: string, ofPair: string) =>
  row(times(mi("mix"), ofClass), mo("+"), times(bracket(mn(1), mo("−"), mi("mix")), ofPair));
const otherClasses = sum(relation(mi("n"), "∈", row(mi("N"), bracket(mi("i")))), exponential("in"));
const mass = row(bracket(mi("b"), mo("−"), mn(1)), sum(mi("j"), row()));
const bothViews = bracket(exponential("ij"), mo("+"), exponential("ij'"));
const squared = (a: string, b: string) =>
  sup(row(mo("|"), sub(mi(a), mi("i")), mo("−"), sub(mi(b), mi("j")), mo("|")), mn(2));
const spread = (letter: string) => log(mean(sup(mi("e"), row(minus(mi("t")), squared(letter, letter)))));

const kernelWeights = (variant: string) => `w: weights “${ESTIMATE_TITLES[variant as Estimate]}” of the map below`;
const negativesOf = (denominator: string) => mean(log(bracket(exponential("ii'"), mo("+"), denominator)));
const conditionalNegatives: Readonly<Record<string, string>> = {
  paper: row(mass, weight("ji"), exponential("ij")),
  released: row(mass, weight("ij"), bothViews),
  normalised: row(mass, weight("ij"), fraction(bothViews, mn(2))),
};
/** Some released losses are the sum of both directions where others are their mean. */
const doubled = (variant: string, term: string) => (variant === "released" ? times(mn(2), term) : term);
const supervised =
  (where: string) =>
  (variant: string): Formula => {
    const scale = (term: string) => (variant === "released" ? times(releasedFactor, term) : term);
    return { positive: minus(scale(mean(positives))), negative: scale(mean(log(others))), where };
  };

/** The formula of each objective, by its variant. */
const FORMULAS: Readonly<Record<string, (variant: string) => Formula>> = {
  "info-nce": () => ({
    positive: minus(mean(similarity("ii"))),
    negative: mean(log(sum(mi("j"), exponential("ij")))),
    where: "i a first view, j the second views",
  }),
  "nt-xent": () => ({ positive: ownPair, negative: mean(log(others)) }),
  "fair-info-nce": () => ({
    positive: minus(mean(similarity("ii"))),
    negative: mean(log(sum(relation(sub(mi("c"), mi("j")), "=", sub(mi("c"), mi("i"))), exponential("ij")))),
    where: "i a first view, j the second views, c the class of the colour",
  }),
  "weaksup-info-nce": supervised("P(i): the other points of the same colour class"),
  supcon: supervised("P(i): the other points of the same colour class"),
  biascon: (variant) => ({
    positive: minus(mean(positives)),
    negative: mean(log(others)),
    where: `P(i): points of the same colour class and the other shape${variant === "released" ? "; 10⁻⁹ is added inside the logarithm" : ""}`,
  }),
  dcl: () => ({
    positive: ownPair,
    negative: negativesOf(row(mi("N"), sub(mi("g"), mi("i")))),
    where:
      "N g: the sum over the N points of other samples, less the share τ⁺ that is taken to be of the anchor's class",
  }),
  hcl: () => ({
    positive: ownPair,
    negative: negativesOf(row(mi("N"), sub(mi("g"), mi("i")))),
    where: "N g: as in DCL, each negative weighed by exp(β s) before",
  }),
  "fair-cclk": (variant) => ({
    positive: ownPair,
    negative: negativesOf(conditionalNegatives[variant] ?? ""),
    where: kernelWeights(variant),
  }),
  "hardneg-cclk": (variant) => ({
    positive: ownPair,
    negative: negativesOf(conditionalNegatives[variant] ?? ""),
    where: "w: weights made of the points themselves in place of their colours",
  }),
  "weaksup-cclk": (variant) =>
    variant === "paper"
      ? {
          whole: mean(row(log(bracket(sub(mi("P"), mi("i")), mo("+"), others)), mo("−"), log(sub(mi("P"), mi("i"))))),
          where: "P: the sum of exp s over all samples of the other view, weighed by w",
        }
      : {
          positive: minus(mean(log(sub(mi("P"), mi("i"))))),
          negative: mean(log(bracket(sub(mi("P"), mi("i")), mo("+"), others))),
          where: "P: the sum of exp s over points of like colour, weighed by w",
        },
  contex: (variant) =>
    variant === "paper"
      ? {
          whole: mixed(
            mean(row(log(otherClasses), mo("−"), positives)),
            minus(mean(log(bracket(mn(1), mo("+"), fraction(exponential("ii'"), otherSamples))))),
          ),
          where: "P(i), N(i): the other points of the same, and of other colour classes",
        }
      : {
          positive: minus(times(releasedFactor, mean(mixed(positives, own)))),
          negative: times(releasedFactor, mean(mixed(log(otherClasses), log(others)))),
          where: "P(i), N(i): the other points of the same, and of other colour classes",
        },
  "contex-p": (variant) => ({
    whole: scaled(
      variant,
      mixed(
        minus(
          mean(
            sub(row(mi("mean")), row(mi("p"))) +
              row(mi("min"), bracket(mn(0), mo(","), similarity("ip"), mo("−"), log(otherClasses))),
          ),
        ),
        mean(row(log(others), mo("−"), own)),
      ),
    ),
    where: "p: the other points of the same colour class; N(i): those of other classes",
  }),
  dc: (variant) => ({
    positive: minus(doubled(variant, mean(own))),
    negative: doubled(variant, mean(log(otherSamples))),
  }),
  dclw: (variant) => ({
    positive: minus(doubled(variant, mean(row(sub(mi("v"), mi("i")), own)))),
    negative: doubled(variant, mean(log(otherSamples))),
    where: "v: 2 less b times the softmax of the own pairs' cosines over σ",
  }),
  "align-uniform": () => ({
    positive: mean(sup(row(mo("|"), sub(mi("a"), mi("i")), mo("−"), sub(mi("b"), mi("i")), mo("|")), mi("α"))),
    negative: spread("x"),
    where: "x: the points of one view, averaged over both views",
  }),
  "decoupled-uniformity": () => ({ whole: spread("m"), where: "m: the middle of the two views of a sample" }),
  "kernel-decoupled-uniformity": (variant) => ({
    whole: spread("c"),
    where: `c: the middles of all samples, weighed by (K + rI)⁻¹K with r = ${variant === "released" ? "λ" : "bλ"}`,
  }),
  "barlow-twins": () => ({
    whole: row(
      sum(mi("k"), sup(bracket(mn(1), mo("−"), sub(mi("C"), index("kk"))), mn(2))),
      mo("+"),
      mi("λ"),
      sum(relation(mi("k"), "≠", mi("l")), sup(sub(mi("C"), index("kl")), mn(2))),
    ),
    where: "C: the correlations of the coordinates of the two views",
  }),
};

/** The formula of a chosen variant; of an objective without one here, the text that core has. */
export function formulaOf(variant: string, { name, variant: byDefault, formula: text }: Offered): Formula {
  const formula = FORMULAS[name];
  return formula ? formula(variant || (byDefault ?? "paper")) : { where: text.replaceAll("\n", "; ") };
}
