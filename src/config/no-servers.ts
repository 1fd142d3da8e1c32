// What to say where a config names no server at all, or is an empty file: the file, and what to write into it.

/** An entry that works as it is, for somebody who has none yet. */
const firstServer =
  '"files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."] }';

export const emptyFile = `the file is empty: write { "mcpServers": { ${firstServer} } } into it`;

export const addFirstServer = `add one under "mcpServers", such as ${firstServer}, then: holdfast doctor`;

/** `file` is null where a program gave the config. */
export function noServersText(file: string | null): string {
  return `${file ?? 'the config'} has no servers; ${addFirstServer}`;
}
