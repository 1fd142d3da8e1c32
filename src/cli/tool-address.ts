// SERVER/TOOL, as one word of a command line. A server's name never contains a slash, but a tool's
// name may contain anything, so the first slash is the separator.

import { Fault } from '../kernel/fault.ts';

export interface ToolAddress {
  readonly server: string;
  readonly tool: string;
}

export interface PartialAddress {
  readonly server: string;
  readonly tool: string | undefined;
}

/** The error for a server without a tool, where a tool is needed. */
export function namesNoTool(word: string, server: string): Fault {
  return new Fault(
    'invalid_request',
    `'${word}' has no tool name: write ${server}/TOOL; list its tools with: holdfast tools ${server}`,
  );
}

/** A tool, or a server alone. */
export function partialAddress(text: string): PartialAddress {
  const slash = text.indexOf('/');
  const server = slash === -1 ? text : text.slice(0, slash);
  const tool = slash === -1 ? undefined : text.slice(slash + 1);
  if (server === '' || tool === '') {
    const missing = server === '' ? 'server name missing in' : 'tool name missing after';
    throw new Fault('invalid_request', `${missing} '${text}': write SERVER/TOOL`);
  }
  return { server, tool };
}
