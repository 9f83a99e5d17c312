// Warnings of core in the words of a page.
import type { WarningKind } from "simile-web";

/** An evaluation or a run, with the reasons why it is meaningless. */
interface Warned {
  readonly warnings: readonly string[];
  readonly warningKinds: readonly WarningKind[];
}

/** The sentences of a page in place of core's, by the kind of a warning. */
type Sentences = Readonly<Partial<Record<WarningKind, string>>>;

/** The warnings, each by the sentence of its kind where the page has one. */
export function inWords({ warnings, warningKinds }: Warned, sentences: Sentences): string[] {
  return warnings.map((warning, at) => {
    const kind = warningKinds[at];
    return (kind && sentences[kind]) ?? warning;
  });
}
