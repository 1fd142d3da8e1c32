// A tool's arguments from the words of a command line, as the JSON text that will cross the wire.
// One JSON object is taken as it stands, `-` takes standard input as it stands, and key=value pairs
// are put together here: a value that is JSON is kept in its own spelling, so that no number changes,
// and anything else becomes a string. Whether the text is valid is for the host to say.

import { Fault } from '../kernel/fault.ts';

export type ArgumentSource =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'stdin' };

export function argumentSource(words: readonly string[]): ArgumentSource {
  const [first, ...rest] = words;
  if (first === undefined) return { kind: 'text', text: '{}' };
  const isWhole = first === '-' || /^\s*\{/.test(first);
  if (isWhole && rest.length > 0) {
    const form = first === '-' ? '- (standard input)' : 'one JSON object';
    throw refusal(`${form} must be the only argument, but '${rest[0]}' follows it`);
  }
  if (first === '-') return { kind: 'stdin' };
  return { kind: 'text', text: isWhole ? first : objectText(words) };
}

function objectText(words: readonly string[]): string {
  const members = new Map<string, string>();
  for (const word of words) {
    const equals = word.indexOf('=');
    if (equals < 1) throw refusal(`'${word}' is neither a JSON object nor key=value`);
    const key = word.slice(0, equals);
    if (members.has(key)) throw refusal(`the key '${key}' is given twice`);
    members.set(key, valueText(word.slice(equals + 1)));
  }
  const texts = [...members].map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  return `{${texts.join(',')}}`;
}

function valueText(value: string): string {
  try {
    JSON.parse(value);
    return value;
  } catch {
    // Not JSON, and so a string: that is the rule, not a failure.
    return JSON.stringify(value);
  }
}

function refusal(problem: string): Fault {
  return new Fault(
    'invalid_request',
    `${problem}; give the arguments as '{"path":"."}', as path=. or as - to read them from standard input`,
  );
}
