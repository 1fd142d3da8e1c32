// The message for a config without servers, or an empty file: the file, and what to write into it.

/** An entry that works unchanged, as an example. */
const firstServer =
  '"files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."] }';

export const emptyFile = `the file is empty: write { "mcpServers": { ${firstServer} } } into it`;

export const addFirstServer = `add one under "mcpServers", such as ${firstServer}, then: holdfast doctor`;

/** `file` is null if a program passed the config. */
export function noServersText(file: string | null): string {
  return `${file ?? 'the config'} has no servers; ${addFirstServer}`;
}
