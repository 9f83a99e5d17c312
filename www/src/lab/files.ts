// Files to download, and text for the clipboard.
import { measure } from "./measure.js";
import { type Picture, toSvg } from "../shapes.js";
import type { Side } from "./side.js";
import { SIDES } from "./sides.js";
import type { State } from "./state.js";
import { readTheme } from "../theme.js";

/** The whole state of the lab, with the results of both sides. */
export function toJson(state: State, sides: readonly Side[], address: string): string {
  const described = sides.map(({ choice, evaluated, evaluation }) => ({
    ...choice,
    samples: evaluated,
    figures: measure(evaluated),
    ...evaluation,
  }));
  return JSON.stringify({ format: "simile-lab", version: 1, address, state, sides: described }, null, 1);
}

/** One line for each point of each side. */
export function toCsv(sides: readonly Side[]): string {
  const dims = sides[0]?.samples.views[0][0]?.length ?? 0;
  const numbered = (letter: string) => Array.from({ length: dims }, (_, at) => `${letter}${at}`);
  const header = ["side", "objective", "view", "sample", "hue", ...numbered("x"), ...numbered("gradient")];
  const lines = sides.flatMap(({ evaluated, evaluation, choice }, side) =>
    evaluated.views.flatMap((rows, view) =>
      rows.map((row, at) => {
        const gradient = evaluation?.gradients[view]?.[at] ?? row.map(() => "");
        return [
          SIDES[side],
          choice.objective,
          "ab"[view],
          at + 1,
          evaluated.hues[at],
          ...row,
          ...gradient,
        ];
      }),
    ),
  );
  return [header, ...lines].map((line) => line.join()).join("\n") + "\n";
}

export function toFigure(pictures: readonly Picture[]): string {
  return toSvg(pictures, readTheme().raised);
}
