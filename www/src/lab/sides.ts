// The two sides of the lab.

/** Both sides in texts and in the address, in their order. */
export const SIDES = ["left", "right"] as const;
