// The picture of an arena: the sphere, the pairs, the points with their gradients, and the forces on one of them.
import type { Camera, Place } from "./camera.js";
import { add, length } from "./rows.js";
import { biases, type Samples } from "./samples.js";
import type { Picture, Point, Shape } from "../shapes.js";
import type { SideEvaluation } from "./side.js";
import { hueColour, type Theme } from "../theme.js";

/** Room for arrows around the sphere, as a share of its radius. */
export const MARGIN = 0.3;
export const REACH = 0.09;

export interface ArenaView {
  readonly samples: Samples;
  readonly evaluation: SideEvaluation;
  readonly camera: Camera;
  /** Length of the gradient that the longest arrow stands for: the same in all arenas. */
  readonly steepest: number;
  /** The point whose forces are shown: its row among the first and then the second views. */
  readonly focus: number | undefined;
  /** Samples that are highlighted by another part of the page. */
  readonly marked: readonly number[];
}

export function arenaPicture(view: ArenaView, size: number, theme: Theme): Picture {
  const { samples, camera } = view;
  const radius = size / 2 / (1 + MARGIN);
  const at = ({ x, y }: { x: number; y: number }): Point => [size / 2 + x * radius, size / 2 - y * radius];
  const rows = samples.views.flat();
  const places = rows.map((row) => camera.place(row));
  const shapes: Shape[] = [
    { kind: "disc", at: [size / 2, size / 2], radius, fill: "none", colour: theme.line },
    ...pairs(samples, places, at),
    ...forces(view, places, at, theme),
  ];
  const order = places.map((_, row) => row).sort((p, q) => (places[p]?.depth ?? 0) - (places[q]?.depth ?? 0));
  for (const row of order) {
    shapes.push(...arrow(view, row, at, theme.ink), ...point(view, row, places[row] as Place, at, radius, theme));
  }
  return { width: size, height: size, shapes };
}

type At = (place: { x: number; y: number }) => Point;

/** Points behind the sphere are paler. */
const opacityOf = ({ depth }: Place) => (depth < 0 ? 0.4 : 1);

function pairs({ hues }: Samples, places: readonly Place[], at: At): Shape[] {
  return hues.map((hue, index) => {
    const ends = [places[index], places[index + hues.length]] as [Place, Place];
    const opacity = 0.5 * Math.min(...ends.map(opacityOf));
    return { kind: "line", points: ends.map(at), colour: hueColour(hue), opacity };
  });
}

/** Lines from the point in focus to all others, as thick as the force is strong. */
function forces({ evaluation, focus }: ArenaView, places: readonly Place[], at: At, theme: Theme): Shape[] {
  const row = focus === undefined ? undefined : evaluation.forces?.[focus];
  if (!row || focus === undefined) return [];
  const strongest = Math.max(1e-12, ...row.map((force, other) => (other === focus ? 0 : Math.abs(force))));
  return row.flatMap((force, other): Shape[] => {
    const share = Math.abs(force) / strongest;
    if (other === focus || share < 0.005) return [];
    const points = [places[focus], places[other]].map((place) => at(place as Place));
    const colour = force < 0 ? theme.attract : theme.repel;
    return [{ kind: "line", points, colour, width: 0.5 + 6 * share, opacity: 0.25 + 0.6 * share }];
  });
}

function point(view: ArenaView, row: number, place: Place, at: At, radius: number, theme: Theme): Shape[] {
  const { samples, focus, marked } = view;
  const count = samples.hues.length;
  const [sample, isFirst] = [row % count, row < count];
  const colour = hueColour(samples.hues[sample] ?? 0);
  const size = REACH * radius * (isFirst ? 0.75 : 0.45);
  const kind = biases(samples)[sample] ? "square" : "disc";
  const ring: Shape[] =
    row === focus || marked.includes(sample)
      ? [
          {
            kind: "disc",
            at: at(place),
            radius: size + 5,
            fill: "none",
            colour: theme.ink,
            width: row === focus ? 2.5 : 1.5,
          },
        ]
      : [];
  const fill = isFirst ? colour : theme.raised;
  return [
    ...ring,
    {
      kind,
      at: at(place),
      radius: kind === "square" ? size * 0.85 : size,
      fill,
      colour,
      width: 3,
      opacity: opacityOf(place),
    },
  ];
}

/** An arrow along the negative gradient, along the sphere. */
function arrow({ samples, evaluation, camera, steepest }: ArenaView, row: number, at: At, colour: string): Shape[] {
  const count = samples.hues.length;
  const gradient = evaluation.gradients[row < count ? 0 : 1]?.[row % count];
  const from = samples.views.flat()[row];
  if (!gradient || !from || length(gradient) < steepest * 0.01) return [];
  const start = camera.place(from);
  const [x, y] = at(start);
  const [tx, ty] = at(camera.place(add(from, gradient, -MARGIN / steepest)));
  const size = Math.hypot(tx - x, ty - y);
  if (size < 2) return [];
  const head = Math.min(7, size);
  const [ux, uy] = [(tx - x) / size, (ty - y) / size];
  const barb = (side: number): Point => [tx - head * (ux - side * 0.5 * uy), ty - head * (uy + side * 0.5 * ux)];
  const opacity = opacityOf(start);
  return [
    {
      kind: "line",
      points: [
        [x, y],
        [tx, ty],
      ],
      colour,
      opacity,
    },
    { kind: "line", points: [barb(1), [tx, ty], barb(-1)], colour, opacity },
  ];
}
