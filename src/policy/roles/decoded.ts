// The text that the escapes (`%C3%A9`) of an address stand for.

/** Undefined: some escape stands for no text. */
export function decoded(address: string): string | undefined {
  try {
    return decodeURIComponent(address);
  } catch {
    return undefined;
  }
}
