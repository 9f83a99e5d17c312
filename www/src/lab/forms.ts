// Numbers that the forms of an objective set beside its formula: core's list has them in words alone.

interface Form {
  /** What `null` means in this form, for parameters that are `null` by default. */
  readonly values: Readonly<Record<string, number>>;
  /** True if the ridge is `lambda` times the number of samples. */
  readonly growsWithBatch: boolean;
}

const PLAIN: Form = { values: {}, growsWithBatch: false };

/** Those that differ from the default form of their objective, by objective and variant. */
const FORMS: Readonly<Record<string, Form>> = {
  "contex.paper": { values: { mix: 0.7 }, growsWithBatch: false },
  "kernel-decoupled-uniformity.paper": { values: { t: 1 }, growsWithBatch: true },
};

export function formOf(objective: string, variant: string): Form {
  return FORMS[`${objective}.${variant}`] ?? PLAIN;
}
