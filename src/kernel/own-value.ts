// Looking up a string in a plain object. Every object inherits members such as `constructor`,
// `toString` and `__proto__`; a name, method, header or key that somebody else chose must not find
// them. This is the one place where a plain object is read by such a string; a table of our own that
// is looked up often is a Map instead. `test/architecture/lookups.test.ts` holds the rule.

/** The value of an object's own member; undefined for one that it only inherits. */
export function ownValue<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
