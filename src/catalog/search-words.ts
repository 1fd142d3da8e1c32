// Splits text into search words, in the same way for tools and queries: at separators (`_`, `-`,
// `.`, `/`, spaces, every other sign) and at the capitals of camelCase, in lower case. The text
// comes from servers and models, so its length is bounded before any work is done on it.

const maxTextLength = 4_000;

export function wordsOf(text: string): readonly string[] {
  const humps = text
    .slice(0, maxTextLength)
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2');
  return humps.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

/** A name's words, and the name written as one word: `read_file` is also found by "readfile". */
export function wordsOfName(name: string): readonly string[] {
  const words = wordsOf(name);
  return words.length > 1 ? [...words, words.join('')] : words;
}
