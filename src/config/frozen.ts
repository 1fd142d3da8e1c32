// A configuration never changes once it is read. Every object in it is frozen and has no prototype, so
// that looking up a name such as `constructor` in a map of servers or tools finds nothing.

export type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

/** The same value with every object frozen and without a prototype, so that no key is inherited. */
export function frozen<T>(value: T): Frozen<T>;
export function frozen(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map((item) => frozen(item)));
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, member] of Object.entries(value)) copy[key] = frozen(member);
  return Object.freeze(copy);
}
