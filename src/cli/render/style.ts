// Colour, sparingly: a state, a name, a heading. Whether there is any is decided once for each
// stream; without it every style gives the text back as it is, so that nothing else asks.

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
