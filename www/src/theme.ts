// The colours of the page as resolved values, for a canvas and for SVG files.

const NAMES = ["paper", "raised", "ink", "quiet", "line", "accent", "attract", "repel", "left", "right"] as const;

export type Theme = Readonly<Record<(typeof NAMES)[number], string>>;

/** Reads the current colours of the style sheet. */
export function readTheme(): Theme {
  const probe = document.createElement("span");
  // A canvas keeps its colours where those of the system are forced, and shows by them what differs.
  probe.style.setProperty("forced-color-adjust", "none");
  document.body.append(probe);
  const colours = NAMES.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(colours) as Theme;
}

/** Calls back whenever the visitor changes between light and dark. */
export function onThemeChange(callback: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", callback);
}

export function hueColour(hue: number): string {
  return `hsl(${Math.round(hue * 360)} 70% 50%)`;
}
