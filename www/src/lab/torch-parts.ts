// Common parts of the PyTorch functions of several objectives.
import type { Setting } from "simile-web";

/** A setting as Python functions, of which the last is the loss. */
export type Snippet = (setting: Setting) => string;

/** The value of a parameter with a slider. */
function number({ params }: Setting, name: string): number {
  return Number(Number(params?.[name]).toPrecision(4));
}

/** Parameters of the function with the values of the setting. */
export function defaults(setting: Setting, ...names: readonly string[]): string {
  // `lambda` is a keyword of Python.
  return names.map((name) => `${name === "lambda" ? "lam" : name}=${number(setting, name)}`).join(", ");
}

export const isReleased = ({ variant }: Setting): boolean => variant === "released";
export const isPaper = ({ variant }: Setting): boolean => variant === "paper";

/** The similarities of the first with the second views. */
export const ACROSS = `    s = F.normalize(view_a, dim=1) @ F.normalize(view_b, dim=1).T / temperature
`;

/** The similarities of all 2 b points, and of each with its own other view. */
export const STACKED = `    b = len(view_a)
    x = F.normalize(torch.cat([view_a, view_b]), dim=1)
    s = x @ x.T / temperature
    partner = torch.arange(2 * b, device=x.device).roll(b)
    own = s.gather(1, partner[:, None]).squeeze(1)
`;
export const ITSELF = `    itself = torch.eye(2 * b, dtype=torch.bool, device=x.device)
`;
export const OTHER_SAMPLES = `    same = torch.eye(b, dtype=torch.bool, device=x.device).repeat(2, 2)
    s = s.masked_fill(same, float("-inf"))
`;
/** The middles of the two views of each sample. */
export const MIDDLE = `    middle = (F.normalize(view_a, dim=1) + F.normalize(view_b, dim=1)) / 2
`;
