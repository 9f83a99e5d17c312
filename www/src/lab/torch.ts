// Short PyTorch functions of the objectives that have one. Each was compared with core on random batches.
import type { Setting } from "simile-web";

type Snippet = (setting: Setting) => string | undefined;

const HEAD = "import torch\nimport torch.nn.functional as F\n\n\n";

const number = ({ params }: Setting, name: string) => Number(Number(params?.[name]).toPrecision(4));

/** The similarities of all 2 b points, with the anchors themselves left out. */
const STACKED = `    b = len(view_a)
    x = F.normalize(torch.cat([view_a, view_b]), dim=1)
    s = x @ x.T / temperature
    partner = torch.arange(2 * b, device=x.device).roll(b)
    own = s.gather(1, partner[:, None]).squeeze(1)
`;
const WITHOUT_SELF = `    s = s.masked_fill(torch.eye(2 * b, dtype=torch.bool, device=x.device), float("-inf"))
`;
const OTHER_SAMPLES = `    same = torch.eye(b, dtype=torch.bool, device=x.device).repeat(2, 2)
    s = s.masked_fill(same, float("-inf"))
`;

export const TORCH: Readonly<Record<string, Snippet>> = {
  "info-nce": (setting) => `${HEAD}def info_nce(view_a, view_b, temperature=${number(setting, "temperature")}):
    s = F.normalize(view_a, dim=1) @ F.normalize(view_b, dim=1).T / temperature
    return F.cross_entropy(s, torch.arange(len(s), device=s.device))
`,
  "nt-xent": (setting) => `${HEAD}def nt_xent(view_a, view_b, temperature=${number(setting, "temperature")}):
${STACKED}${WITHOUT_SELF}    return (s.logsumexp(1) - own).mean()
`,
  dc: (setting) =>
    setting.variant === "released"
      ? undefined
      : `${HEAD}def decoupled_contrastive(view_a, view_b, temperature=${number(setting, "temperature")}):
${STACKED}${OTHER_SAMPLES}    return (s.logsumexp(1) - own).mean()
`,
  hcl: (
    setting,
  ) => `${HEAD}def hard_negatives(view_a, view_b, temperature=${number(setting, "temperature")}, beta=${number(setting, "beta")}, tau_plus=${number(setting, "tau_plus")}):
${STACKED}${OTHER_SAMPLES}    n = 2 * b - 2
    negatives = n * ((1 + beta) * s).exp().sum(1) / (beta * s).exp().masked_fill(same, 0).sum(1)
    estimate = (negatives - tau_plus * n * own.exp()) / (1 - tau_plus)
    estimate = estimate.clamp_min(n * torch.tensor(-1 / temperature).exp())
    return ((own.exp() + estimate).log() - own).mean()
`,
  supcon: (setting) => `${HEAD}def supcon(view_a, view_b, labels, temperature=${number(setting, "temperature")}):
${STACKED}    label = labels.repeat(2)
    itself = torch.eye(2 * b, dtype=torch.bool, device=x.device)
    positive = (label[:, None] == label) & ~itself
    log_p = s - s.masked_fill(itself, float("-inf")).logsumexp(1, keepdim=True)
    loss = -(log_p * positive).sum(1) / positive.sum(1)
    return loss.mean()${setting.variant === "released" ? " * (temperature / 0.07)" : ""}
`,
  "align-uniform": (
    setting,
  ) => `${HEAD}def align_uniform(view_a, view_b, alpha=${number(setting, "alpha")}, t=${number(setting, "t")}):
    a, b = F.normalize(view_a, dim=1), F.normalize(view_b, dim=1)
    align = (a - b).norm(dim=1).pow(alpha).mean()
    uniform = [torch.pdist(x).pow(2).mul(-t).exp().mean().log() for x in (a, b)]
    return align + sum(uniform) / 2
`,
  "decoupled-uniformity": (setting) => `${HEAD}def decoupled_uniformity(view_a, view_b, t=${number(setting, "t")}):
    middle = (F.normalize(view_a, dim=1) + F.normalize(view_b, dim=1)) / 2
    return torch.pdist(middle).pow(2).mul(-t).exp().mean().log()
`,
  "fair-cclk": fairCclk,
};

/** With the RBF kernel and weights of sum 1, which is what core recommends. */
function fairCclk(setting: Setting): string | undefined {
  const kernel = setting.kernel as { name?: string; sigma?: number } | undefined;
  if (kernel?.name !== "rbf" || (setting.variant ?? "normalised") !== "normalised") return undefined;
  const sigma = Number((kernel.sigma ?? 1).toPrecision(4));
  return `${HEAD}def fair_cclk(view_a, view_b, z, temperature=${number(setting, "temperature")}, lam=${number(setting, "lambda")}, sigma=${sigma}):
${STACKED}    k = (-torch.cdist(z.double(), z.double()).pow(2) / (2 * sigma**2)).exp()
    w = torch.linalg.solve(k + lam * torch.eye(b, dtype=k.dtype, device=k.device), k)
    w = w.clamp_min(0).fill_diagonal_(0)
    w = (w / w.sum(1, keepdim=True).clamp_min(1e-300)).to(s.dtype)
    negatives = (s + w.repeat(2, 2).log() + torch.tensor((b - 1) / 2).log()).logsumexp(1)
    return (torch.logaddexp(own, negatives) - own).mean()
`;
}
