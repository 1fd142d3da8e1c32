// Which variables of the environment a config names: an instance that `connect` starts gets these and the
// safe set, and no others. The text is searched, not parsed: a name in a comment only passes on a variable
// of the same user.

const inText = /\$\{(?!(?:file|cmd|input):)(?:env:)?([A-Za-z_][A-Za-z0-9_]*)/g;
const inheritList = /"(?:inheritEnv|allowEnv)"\s*:\s*\[([^\]]*)\]/g;
const quoted = /"([^"\\]+)"/g;

/** Names, and patterns with a `*` at one end. */
export function variablesNamedIn(config: string): readonly string[] {
  const names = [...config.matchAll(inText)].map(([, name]) => name ?? '');
  const inherited = [...config.matchAll(inheritList)].flatMap(([, list]) =>
    [...(list ?? '').matchAll(quoted)].map(([, name]) => name ?? ''),
  );
  return [...new Set([...names, ...inherited])];
}
