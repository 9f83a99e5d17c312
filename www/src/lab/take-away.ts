// Downloads and copies: files, a link, and the setting as code.
import { element } from "../element.js";
import { saveFile } from "../save.js";
import { toCsv, toFigure, toJson } from "./files.js";
import type { Lab } from "./lab.js";
import { type Language, snippetOf } from "./snippets.js";
import { toHash } from "./state.js";

export class TakeAway {
  readonly #code = element("code", HTMLElement);

  constructor(private readonly lab: Lab) {
    const onClick = (id: string, action: () => void) =>
      element(id, HTMLButtonElement).addEventListener("click", action);
    onClick("save-json", () =>
      saveFile("simile-lab.json", "application/json", toJson(lab.state, lab.sides, this.#address(lab.evaluated))),
    );
    onClick("save-csv", () => saveFile("simile-lab.csv", "text/csv", toCsv(lab.sides)));
    onClick("save-svg", () => saveFile("simile-lab.svg", "image/svg+xml", toFigure(lab.pictures)));
    onClick("copy-link", () => this.#copy(this.#address(), "The link"));
    onClick("copy-embed", () => this.#copy(this.#frame(), "The frame"));
    for (const language of ["rust", "recipe", "torch"] as const) {
      onClick(`copy-${language}`, () => this.#copyCode(language));
    }
  }

  #address(snapshot = this.lab.snapshot): string {
    return new URL(toHash(snapshot), location.href).href;
  }

  #frame(): string {
    const address = new URL(this.#address());
    address.searchParams.set("embed", "1");
    return `<iframe src="${address.href}" title="Simile loss lab" width="100%" height="900"></iframe>`;
  }

  /** The settings of both sides; one alone where both are the same. */
  #copyCode(language: Language): void {
    const { catalogue, sides, state } = this.lab;
    const chosen = sides.flatMap(({ choice }) => {
      const entry = catalogue.offered.get(choice.objective);
      return entry ? [{ entry, setting: catalogue.settingOf(choice, state.settings, state.kernel) }] : [];
    });
    const snippet = snippetOf(language, chosen);
    if (!snippet) {
      this.#code.hidden = true;
      this.#say("There is no such text for these objectives.");
      return;
    }
    this.#code.textContent = snippet.text;
    this.#code.hidden = false;
    void this.#copy(snippet.text, snippet.isWhole ? "The text" : "The text for one of both sides");
  }

  async #copy(text: string, what: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.#say(`${what} was copied.`);
    } catch {
      this.#code.textContent = text;
      this.#code.hidden = false;
      this.#say("The browser does not let this page copy; take the text from below.");
    }
  }

  #say(text: string): void {
    element("taken", HTMLElement).textContent = text;
  }
}
