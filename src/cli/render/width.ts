// How many columns a text takes on a terminal, and how it is cut to fit. Counted by grapheme,
// because one character on the screen can be many in the text; wide scripts and emoji take two
// columns.

const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const invisible = /^[\p{M}\u200b-\u200f]+$/u;
const plain = /^[\x20-\x7e]*$/;

export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += widthOfGrapheme(segment);
  return width;
}

function widthOfGrapheme(segment: string): number {
  if (invisible.test(segment)) return 0;
  return wide.test(segment) ? 2 : 1;
}

/** The text, or as much of it as fits with an ellipsis. */
export function cutTo(columns: number, text: string): string {
  if (widthOf(text) <= columns) return text;
  let result = '';
  let width = 1;
  for (const { segment } of graphemesOf(text)) {
    width += widthOfGrapheme(segment);
    if (width > columns) break;
    result += segment;
  }
  return columns < 1 ? '' : `${result.trimEnd()}…`;
}

/** Broken between words into lines that fit; a word that is too long stays whole. */
export function wrappedTo(columns: number, text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

export function padTo(columns: number, text: string): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

let segmenter: Intl.Segmenter | undefined;

/** Created when first needed, because it is expensive compared with a short command. */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}
