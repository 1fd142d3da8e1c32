// Cuts text from outside to a length before it is shown or stored. What a person sees as one
// character may be many code units (a flag, a family emoji, an accent): none of them is cut in
// half.

/** A character that is longer than this is cut anyway. */
const longestCharacter = 64;

/**
 * The beginning, of at most this many code units. Counted from the start of the text, because flags
 * are pairs that can only be told apart by counting.
 */
export function headOf(length: number, text: string): string {
  if (text.length <= length) return text;
  segmenter ??= new Intl.Segmenter();
  const segments = segmenter.segment(text.slice(0, length + longestCharacter));
  const boundary = segments.containing(length)?.index ?? length;
  return text.slice(0, length - boundary > longestCharacter ? length : boundary);
}

/** The same with an ellipsis where something was removed; the ellipsis counts. */
export function cutText(length: number, text: string): string {
  return text.length <= length ? text : `${headOf(length - 1, text).trimEnd()}…`;
}

/** Created when first needed, because it is expensive compared with a short command. */
let segmenter: Intl.Segmenter | undefined;
