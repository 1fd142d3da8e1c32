// What every object inherits: names that a table of ours must not find when a stranger uses them as a
// method, a name, a key, a header, an id, a token or an address. In the dictionary of every fuzzer.

export const inheritedNames = Object.getOwnPropertyNames(Object.prototype) as [string, ...string[]];

/** The same as JSON strings. */
export const inheritedTexts = inheritedNames.map((name) => JSON.stringify(name));
