// PyTorch functions of the objectives that weigh samples by a kernel.
import type { Setting } from "simile-web";
import { ACROSS, defaults, isPaper, isReleased, MIDDLE, type Snippet, STACKED } from "./torch-parts.js";

/** The Gram matrix by the name of the kernel. */
const GRAMS: Readonly<Record<string, string>> = {
  rbf: "(-torch.cdist(z, z).pow(2) / (2 * sigma**2)).exp()",
  laplacian: "(-torch.cdist(z, z) / sigma).exp()",
  linear: "z @ z.T",
  cosine: "F.normalize(z, dim=1) @ F.normalize(z, dim=1).T",
  polynomial: "(z @ z.T) ** 3",
};

/** `(K + ridge I)^-1 K`; the released code sets the diagonal of `K` to 1 first. */
function operator({ kernel, ...setting }: Setting, hasUnitDiagonal = isReleased(setting)): string {
  const { name = "", sigma } = kernel as { name?: string; sigma?: number };
  const bandwidth = sigma === undefined ? "" : `, sigma=${Number(sigma.toPrecision(4))}`;
  return `def gram(z${bandwidth}):
    return ${GRAMS[name] ?? ""}


def operator(z, ridge):
    k = gram(z.detach().double())${hasUnitDiagonal ? ".fill_diagonal_(1)" : ""}
    return torch.linalg.solve(k + ridge * torch.eye(len(k), dtype=k.dtype, device=k.device), k)


`;
}

const CLIPPED = `def weights(z, lam):
    w = operator(z, lam)
    return w.where(w >= 1e-6, 0).fill_diagonal_(0)


`;
const normalised = (diagonal: string) => `def weights(z, lam):
    w = operator(z, lam).clamp_min(0)${diagonal}
    return w / w.sum(1, keepdim=True).clamp_min(1e-300)


`;
const WITHOUT_OWN = ".fill_diagonal_(0)";

/**
 * As printed: the estimate of each anchor from weights of either sign, and the bound at which a sum below 0 is clamped.
 */
const signed = (z: string) => `${ACROSS}    own, e = s.diagonal(), s.exp()
    terms = operator(${z}, lam).to(s.dtype) * e
    rest = terms - torch.diag(terms.diagonal())
    sizes = [own.exp(), rest.clamp_min(0).sum(1), -rest.clamp_max(0).sum(1)]
`;

/** The rows of weights of the anchors. */
interface Condition {
  /** The parameter, where there is one. */
  readonly parameter: string;
  readonly printed: string;
  /** Weights of the anchors of both views over the points of both views. */
  readonly stacked: string;
}
const OF_Z: Condition = { parameter: "z, ", printed: "z", stacked: "weights(z, lam).repeat(2, 2)" };
const OF_VIEWS: Condition = {
  parameter: "",
  printed: "view_a",
  stacked: "torch.cat([weights(view_a, lam), weights(view_b, lam)]).repeat(1, 2)",
};

function conditionalNegatives(name: string, { parameter, printed, stacked }: Condition): Snippet {
  return (setting) => {
    const head = `def ${name}(view_a, view_b, ${parameter}${defaults(setting, "temperature", "lambda")}):\n`;
    if (isPaper(setting)) {
      return `${operator(setting)}${head}${signed(printed)}    floor = 1e-7 * torch.stack(sizes).amax(0)
    denominator = torch.maximum(own.exp() + (len(s) - 1) * terms.sum(1), floor)
    return (denominator.log() - own).mean()
`;
    }
    const mass = isReleased(setting) ? "(b - 1)" : "(b - 1) / 2";
    return `${operator(setting)}${isReleased(setting) ? CLIPPED : normalised(WITHOUT_OWN)}${head}${STACKED}    w = ${stacked}.to(s.dtype)
    negatives = ${mass} * (w * s.exp()).sum(1)
    return ((own.exp() + negatives).log() - own).mean()
`;
  };
}

const conditionalPositives: Snippet = (setting) => {
  const head = `def weaksup_cclk(view_a, view_b, z, ${defaults(setting, "temperature", "lambda")}):\n`;
  const end = `    return ((positives + others).log() - positives.log()).mean()
`;
  if (isPaper(setting)) {
    return `${operator(setting)}${head}${signed("z")}    others = e.sum(1) - own.exp()
    floor = 1e-7 * torch.stack([*sizes, others]).amax(0)
    positives = torch.maximum(terms.sum(1), floor)
${end}`;
  }
  if (isReleased(setting)) {
    return `${operator(setting)}${CLIPPED}${head}${STACKED}    e = s.exp()
    positives = (weights(z, lam).repeat(2, 2).to(s.dtype) * e).sum(1).clamp_min(1e-7)
    others = e.sum(1) - e.diagonal()
${end}`;
  }
  return `${operator(setting)}${normalised("")}${head}${STACKED}    e, w = s.exp(), weights(z, lam).to(s.dtype)
    near = (w - torch.diag(w.diagonal())).repeat(2, 2)
    positives = w.diagonal().repeat(2) * own.exp() + (near * e).sum(1) / 2
    others = e.sum(1) - e.diagonal()
${end}`;
};

export const CONDITIONAL: Readonly<Record<string, Snippet>> = {
  "fair-cclk": conditionalNegatives("fair_cclk", OF_Z),
  "hardneg-cclk": conditionalNegatives("hardneg_cclk", OF_VIEWS),
  "weaksup-cclk": conditionalPositives,
  "kernel-decoupled-uniformity": (setting) =>
    `${operator(setting, false)}def kernel_decoupled_uniformity(view_a, view_b, z, ${defaults(setting, "t", "lambda")}):
${MIDDLE}    centroids = operator(z, ${isPaper(setting) ? "len(z) * lam" : "lam"}).to(middle.dtype) @ middle
    return torch.pdist(centroids).pow(2).mul(-t).exp().mean().log()
`,
};
