// Recognises checkpoints among the files of a visitor.

/** True for a file that is a checkpoint of Simile by its name, which some systems write in capitals. */
export const isCheckpoint = ({ name }: File): boolean => /\.safetensors$/i.test(name);

/** The title of a checkpoint at an address, or of a file by its name. */
export function titleOf(address: string): string {
  return (address.split("/").at(-1) ?? address).replace(/\.safetensors$/i, "");
}

/** The command that makes a checkpoint of a file of PyTorch; `undefined` for other files. */
export function remedyOf({ name }: File): string | undefined {
  if (!/\.(pth|pt|ckpt|bin)$/i.test(name)) return undefined;
  // Browsers save copies as `model (1).pth`, which a shell would take apart.
  const file = /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
  return `${name} is a file of PyTorch; \`simile import ${file} --encoder NAME --out model.safetensors\` makes a checkpoint of it.`;
}
