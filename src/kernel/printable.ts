// Makes text from outside safe to display. The output of a server ends up on terminals and in logs:
// a control character in it can move the cursor, change the title, change the reading direction, or
// hide words from a person that a model still reads. Each such character is shown as its escape;
// ordinary text, in any script, is unchanged.

/** Controls (but not tab and line feed), line separators, changes of direction, invisible tags. */
const unruly =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]|[\u{e0000}-\u{e0fff}]/gu;

const deleteCharacter = '\u007f';

/** Text of any number of lines; tabs and line breaks stay. */
export function printableText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(unruly, escaped);
}

/** The same as one line: every run of white space becomes one space. */
export function printableLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().replace(unruly, escaped);
}

/**
 * A name as one line with nothing left out: tabs, line breaks, and spaces at an end or in a row are shown as
 * their escapes.
 */
export function printableName(name: string): string {
  return name
    .replace(/[\t\n\r]/g, (character) => shortEscapes.get(character) ?? escaped(character))
    .replace(/^ | $|(?<= ) |[^\S ]/g, escaped)
    .replace(unruly, escaped);
}

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\r', '\\r'],
]);

/**
 * JSON text on one line, with the same meaning: such characters are written as escapes, which JSON has for
 * all of them inside its strings.
 */
export function printableJson(json: string): string {
  // Nearly all of it is ASCII, where JSON escapes every control character but one. Every call event
  // passes through here, so this is kept fast.
  if (Buffer.byteLength(json) === json.length && !json.includes(deleteCharacter)) return json;
  return json.replace(unruly, (character) =>
    [...Array(character.length).keys()].map((at) => unitEscape(character, at)).join(''),
  );
}

function unitEscape(character: string, at: number): string {
  return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
}

function escaped(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}
