// SERVER/TOOL, as one word of a command line. A server's name never holds a slash; a tool's name is
// the server's own affair and may hold anything, so only the first slash divides.

import { Fault } from '../kernel/fault.ts';

export interface ToolAddress {
  readonly server: string;
  readonly tool: string;
}

export interface PartialAddress {
  readonly server: string;
  readonly tool: string | undefined;
}

/** A server alone, where a tool is needed. */
export function namesNoTool(word: string, server: string): Fault {
  return new Fault(
    'invalid_request',
    `'${word}' names no tool: write ${server}/TOOL; its tools are listed by: holdfast tools ${server}`,
  );
}

/** A tool, or a server alone. */
export function partialAddress(text: string): PartialAddress {
  const slash = text.indexOf('/');
  const server = slash === -1 ? text : text.slice(0, slash);
  const tool = slash === -1 ? undefined : text.slice(slash + 1);
  if (server === '' || tool === '') {
    throw new Fault('invalid_request', `'${text}' is no address: write SERVER/TOOL`);
  }
  return { server, tool };
}
