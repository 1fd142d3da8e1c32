// Converts the words of a command line to a tool's arguments, as the JSON text that is sent. One
// JSON object is used unchanged, `-` reads standard input unchanged, and key=value pairs are
// combined here: a value that is JSON keeps its spelling, so that no number changes, and any other
// value becomes a string. The host checks whether the text is valid.

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
    throw wrongForm(`${form} must be the only argument, but '${rest[0]}' follows it`);
  }
  if (first === '-') return { kind: 'stdin' };
  return { kind: 'text', text: isWhole ? first : objectText(words) };
}

function objectText(words: readonly string[]): string {
  const members = new Map<string, string>();
  for (const word of words) {
    const equals = word.indexOf('=');
    if (equals < 1) throw wrongForm(`'${word}' is neither a JSON object nor key=value`);
    const key = word.slice(0, equals);
    if (members.has(key)) throw givenTwice(key);
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
    // Not JSON, so it is a string; this is not an error.
    return JSON.stringify(value);
  }
}

function givenTwice(key: string): Fault {
  return new Fault(
    'invalid_request',
    `the key '${key}' is given twice; give it once, or as JSON if it is a list, such as ${key}='["x","y"]'`,
  );
}

function wrongForm(problem: string): Fault {
  return new Fault(
    'invalid_request',
    `${problem}; give the arguments as '{"path":"."}', as path=. or as - to read them from standard input`,
  );
}
