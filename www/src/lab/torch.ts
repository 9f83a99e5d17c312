// Short PyTorch functions of the objectives. A test compares each with core, its gradients too.
import type { Setting } from "simile-web";
import { CONDITIONAL } from "./torch-conditional.js";
import {
  ACROSS,
  defaults,
  isPaper,
  isReleased,
  ITSELF,
  MIDDLE,
  OTHER_SAMPLES,
  type Snippet,
  STACKED,
} from "./torch-parts.js";

/** How some released losses are scaled. */
const RELEASED_SCALE = " * (temperature / 0.07)";

/** Each anchor's mean negated log-probability of the points of its class. */
const CLASS_MEAN = `${STACKED}${ITSELF}    label = labels.repeat(2)
    positive = (label[:, None] == label) & ~itself
    log_p = s - s.masked_fill(itself, float("-inf")).logsumexp(1, keepdim=True)
    loss = -(log_p * positive).sum(1) / positive.sum(1)
`;

/** The mass of the negatives after the correction for positives among them, and the loss. */
const CORRECTED = `    estimate = (negatives - tau_plus * n * own.exp()) / (1 - tau_plus)
    estimate = estimate.clamp_min(n * math.exp(-1 / temperature))
    return ((own.exp() + estimate).log() - own).mean()
`;

/** The margins between the points of an anchor's class and all points of other classes together. */
const MARGINS = `${STACKED}${ITSELF}    label = labels.repeat(2)
    positive, other = (label[:, None] == label) & ~itself, label[:, None] != label
    margin = s - s.masked_fill(~other, -1e30).logsumexp(1, keepdim=True)
    has_both = positive.any(1) & other.any(1)
`;
const classTerm = (margin: string) =>
  `    of_class = has_both * -(${margin} * positive).sum(1) / positive.sum(1).clamp_min(1)
`;
const OWN_TERM = `    of_pair = s.masked_fill(itself, float("-inf")).logsumexp(1) - own
`;
const PRINTED_OWN_TERM = `${OTHER_SAMPLES}    of_pair = -F.softplus(own - s.logsumexp(1))
`;
const mixed = (scale: string) => `    return (mix * of_class + (1 - mix) * of_pair).mean()${scale}
`;

const supervised = (name: string, setting: Setting, isScaled: boolean) =>
  `def ${name}(view_a, view_b, labels, ${defaults(setting, "temperature")}):
${CLASS_MEAN}    return loss.mean()${isScaled ? RELEASED_SCALE : ""}
`;

/** The functions of each objective, without the common imports. */
const SNIPPETS: Readonly<Record<string, Snippet>> = {
  "info-nce": (setting) => `def info_nce(view_a, view_b, ${defaults(setting, "temperature")}):
${ACROSS}    return F.cross_entropy(s, torch.arange(len(s), device=s.device))
`,
  "fair-info-nce": (setting) => `def fair_info_nce(view_a, view_b, labels, ${defaults(setting, "temperature")}):
${ACROSS}    s = s.masked_fill(labels[:, None] != labels, float("-inf"))
    return F.cross_entropy(s, torch.arange(len(s), device=s.device))
`,
  "nt-xent": (setting) => `def nt_xent(view_a, view_b, ${defaults(setting, "temperature")}):
${STACKED}${ITSELF}    return (s.masked_fill(itself, float("-inf")).logsumexp(1) - own).mean()
`,
  dc: (setting) => `def decoupled_contrastive(view_a, view_b, ${defaults(setting, "temperature")}):
${STACKED}${OTHER_SAMPLES}    return (s.logsumexp(1) - own).mean()${isReleased(setting) ? " * 2" : ""}
`,
  dclw: (setting) => `def decoupled_weighted(view_a, view_b, ${defaults(setting, "temperature", "sigma")}):
${STACKED}${OTHER_SAMPLES}    weights = 2 - b * (own[:b] * temperature / sigma).softmax(0)
    return (s.logsumexp(1) - weights.repeat(2) * own).mean()${isReleased(setting) ? " * 2" : ""}
`,
  dcl: (setting) => `def debiased(view_a, view_b, ${defaults(setting, "temperature", "tau_plus")}):
${STACKED}${OTHER_SAMPLES}    n = 2 * b - 2
    negatives = s.exp().sum(1)
${CORRECTED}`,
  hcl: (setting) => `def hard_negatives(view_a, view_b, ${defaults(setting, "temperature", "beta", "tau_plus")}):
${STACKED}${OTHER_SAMPLES}    n = 2 * b - 2
    negatives = n * ((1 + beta) * s).exp().sum(1) / (beta * s).exp().masked_fill(same, 0).sum(1)
${CORRECTED}`,
  supcon: (setting) => supervised("supcon", setting, isReleased(setting)),
  // Core recommends its released form.
  "weaksup-info-nce": (setting) => supervised("weaksup_info_nce", setting, !isPaper(setting)),
  biascon: (setting) => `def biascon(view_a, view_b, labels, bias, ${defaults(setting, "temperature")}):
${STACKED}${ITSELF}    label, kind = labels.repeat(2), bias.repeat(2)
    positive = (label[:, None] == label) & (kind[:, None] != kind)
    others = s.masked_fill(itself, float("-inf")).logsumexp(1, keepdim=True)
${isReleased(setting) ? "    others = torch.logaddexp(others, others.new_tensor(1 / temperature + math.log(1e-9)))\n" : ""}    loss = ((others - s) * positive).sum(1) / positive.sum(1).clamp_min(1)
    return loss.mean()
`,
  contex: (setting) => `def contex(view_a, view_b, labels, ${defaults(setting, "temperature", "mix")}):
${MARGINS}${classTerm("margin")}${isPaper(setting) ? PRINTED_OWN_TERM : OWN_TERM}${mixed(isPaper(setting) ? "" : RELEASED_SCALE)}`,
  "contex-p": (setting) => `def contex_clipped(view_a, view_b, labels, ${defaults(setting, "temperature", "mix")}):
${MARGINS}${classTerm("margin.clamp_max(0)")}${OWN_TERM}${mixed(isReleased(setting) ? RELEASED_SCALE : "")}`,
  "align-uniform": (setting) => `def align_uniform(view_a, view_b, ${defaults(setting, "alpha", "t")}):
    a, b = F.normalize(view_a, dim=1), F.normalize(view_b, dim=1)
    align = (a - b).norm(dim=1).pow(alpha).mean()
    uniform = [torch.pdist(x).pow(2).mul(-t).exp().mean().log() for x in (a, b)]
    return align + sum(uniform) / 2
`,
  "decoupled-uniformity": (setting) => `def decoupled_uniformity(view_a, view_b, ${defaults(setting, "t")}):
${MIDDLE}    return torch.pdist(middle).pow(2).mul(-t).exp().mean().log()
`,
  "barlow-twins": (setting) => `def barlow_twins(view_a, view_b, ${defaults(setting, "lambd")}):
    a, b = [(x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt() for x in (view_a, view_b)]
    c = a.T @ b / len(a)
    off = c - torch.diag(c.diagonal())
    return (1 - c.diagonal()).pow(2).sum() + lambd * off.pow(2).sum()
`,
  ...CONDITIONAL,
};

/** A setting as a Python module whose last function is the loss. */
export function torchOf(setting: Setting): string | undefined {
  const code = SNIPPETS[setting.objective]?.(setting);
  if (code === undefined) return undefined;
  return `${code.includes("math.") ? "import math\n\n" : ""}import torch\nimport torch.nn.functional as F\n\n\n${code}`;
}
