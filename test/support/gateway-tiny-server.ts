// The smallest MCP server there is, for tests that need many of them: a loop of the shell, which
// starts in a hundredth of the time of anything else. It writes down each of its starts.

import { readFileSync } from 'node:fs';
import type { FaultyCommand } from './faulty.ts';

export interface TinyOptions {
  /** A file that gets one line per start. */
  readonly starts: string;
  /** How many tools it has: tool_1 and on. */
  readonly tools?: number;
  /** A file without which it ends at once. */
  readonly gate?: string;
}

const script = `
  echo "$$" >> "$1"
  [ -e "$2" ] || { echo "the gate is shut" >&2; exit 1; }
  while IFS= read -r line; do
    id=\${line#*'"id":'}
    id=\${id%%[,\\}]*}
    case $line in
      *'"method":"initialize"'*) answer=$4 ;;
      *'"method":"tools/list"'*) answer=$3 ;;
      *'"method":"tools/call"'*) answer='"result":{"content":[{"type":"text","text":"done"}]}' ;;
      *'"method":"ping"'*) answer='"result":{}' ;;
      *'"id":'*) answer='"error":{"code":-32601,"message":"Method not found"}' ;;
      *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$id" "$answer"
  done`;

export function tinyServer({ starts, tools = 2, gate = '/' }: TinyOptions): FaultyCommand {
  const definitions = Array.from({ length: tools }, (_, index) => ({
    name: `tool_${index + 1}`,
    description: `Does nothing, in way ${index + 1}.`,
    inputSchema: { type: 'object' },
  }));
  const hello = {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'tiny', version: '1' },
  };
  const result = (value: object) => `"result":${JSON.stringify(value)}`;
  const answers = [result({ tools: definitions }), result(hello)];
  // In a config `${` begins a variable of the config's own.
  const literal = script.replaceAll('${', '$$${');
  return { command: '/bin/sh', args: ['-c', literal, 'tiny', starts, gate, ...answers] };
}

/** How often servers that write to this file were started. */
export function startsIn(file: string): number {
  try {
    return readFileSync(file, 'utf8').split('\n').length - 1;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
