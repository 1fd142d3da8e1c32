// Looks up a string in a plain object. Every object inherits members such as `constructor`,
// `toString` and `__proto__`; a name, method, header or key from outside must not find them. This
// is the only place where a plain object is read by such a string; a table of our own that is read
// often is a Map instead. `test/architecture/lookups.test.ts` enforces this.

/** The value of an object's own member; undefined for an inherited one. */
export function ownValue<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
