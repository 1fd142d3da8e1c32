// Colours for states, names and headings. Whether colours are used is decided once for each stream;
// without them every style returns the text unchanged, so that no other code has to check.

import { styleText } from 'node:util';

type Look = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export type Style = (look: Look, text: string) => string;

type Environment = Readonly<Record<string, string | undefined>>;

/** For a terminal that can show colours, unless the user wants none. */
export function styleFor(isTerminal: boolean, env: Environment): Style {
  const isColourful = isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  if (!isColourful) return (_look, text) => text;
  return (look, text) => (text === '' ? '' : styleText(look, text));
}
