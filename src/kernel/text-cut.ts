// Texts of strangers are cut to a length before they are shown or kept. What a person sees as one
// character may be many units of text (a flag, a family, an accent): none of them is cut in half.

/** A character that is longer than this is cut all the same. */
const longestCharacter = 64;

/** The beginning, of at most this many units. From the very start: flags are told by counting. */
export function headOf(length: number, text: string): string {
  if (text.length <= length) return text;
  segmenter ??= new Intl.Segmenter();
  const segments = segmenter.segment(text.slice(0, length + longestCharacter));
  const boundary = segments.containing(length)?.index ?? length;
  return text.slice(0, length - boundary > longestCharacter ? length : boundary);
}

/** The same with an ellipsis where something is missing, which counts. */
export function cutText(length: number, text: string): string {
  return text.length <= length ? text : `${headOf(length - 1, text).trimEnd()}…`;
}

/** Made when first needed: it costs more than a short command has to say. */
let segmenter: Intl.Segmenter | undefined;
