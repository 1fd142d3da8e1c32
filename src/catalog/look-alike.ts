// Finds names that a person or a model cannot tell apart. Two names look alike when they have the
// same skeleton: the name without case, kind of separator, invisible characters and accents, and
// with letters of other scripts replaced by the Latin letters they resemble. This follows the idea
// of UTS 39 with a table of common characters instead of all of them, and rather treats two names
// as alike than misses a case. A skeleton is only compared with another one: it is not a name and
// is never shown. naming.ts decides whether a look-alike is refused.

/** Equal for names that look alike. */
export function skeleton(name: string): string {
  const visible = name
    .normalize('NFKD')
    .replace(invisible, '')
    .replace(unshowable, '\ufffd')
    .trim();
  // Upper and lower case have different look-alikes, so letters are replaced before each step.
  const folded = latin(latin(latin(visible).toUpperCase()).toLowerCase());
  return folded.replaceAll('rn', 'm').replaceAll('vv', 'w').replace(separators, '_');
}

/** Zero-width and formatting characters, controls, and the accents that NFKD has set apart. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]|[\u0300-\u036f]/gu;

/** Halves of characters, private and unassigned ones: all are drawn as the same empty box. */
const unshowable = /[\p{Cs}\p{Co}\p{Cn}]/gu;

/** Space, hyphens, connectors and dots, however many; the braille blank is as blank as a space. */
const separators = /[\s\p{Pd}\p{Pc}\u2212\u00b7\u2800.]+/gu;

function latin(text: string): string {
  return text.replace(twinLetters, (letter) => twins.get(letter) ?? letter);
}

/**
 * Letters and the Latin ones they look like, written as escapes because in print they cannot be told
 * apart. Cyrillic needs no capitals: there, both cases of a letter resemble the same Latin one.
 */
const rows: readonly (readonly [letters: string, likeLatin: string])[] = [
  // Digits and Latin: a capital I is an l, so case makes i, l and 1 one letter.
  ['01|iI', 'ollll'],
  // Latin with strokes, without dots, and small capitals
  [
    '\u0131\u0251\u0261\u028f\u0185\u0269\u028b\u00f8\u0111\u0127\u0142\u0167\u0180',
    'lagyblvodhltb',
  ],
  ['\u1d00\u0299\u1d04\u1d05\u1d07\ua730\u0262\u029c\u026a\u1d0a\u1d0b\u029f', 'abcdefghljkl'],
  ['\u1d0d\u0274\u1d0f\u1d18\u0280\ua731\u1d1b\u1d1c\u1d20\u1d21\u1d22', 'mnoprstuvwz'],
  // Cyrillic
  ['\u0430\u0432\u0433\u0435\u0437\u0456\u0458\u043a\u043c\u043d\u043e\u043f', 'abre3ljkmhon'],
  ['\u0440\u0441\u0442\u0443\u0445\u0455\u044c\u04bb\u04cf', 'pctyxsbhl'],
  ['\u0501\u050d\u051b\u051d\u0475\u04af', 'dgqwvy'],
  // Greek
  ['\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f', 'abezhlkmno'],
  ['\u03a1\u03a4\u03a5\u03a7', 'ptyx'],
  ['\u03b1\u03b2\u03b3\u03b5\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1', 'abyenlkvop'],
  ['\u03c3\u03c4\u03c5\u03c7\u03c9', 'otuxw'],
  // Armenian
  ['\u054d\u054f\u0555\u053c\u0566\u0570\u0575\u0578\u057d\u0581\u0585', 'usolqhjnugo'],
  // Cherokee
  ['\u13aa\u13f4\u13df\u13a0\u13ac\u13c0\u13bb\u13ab\u13e6\u13de', 'abcdeghjkl'],
  ['\u13b7\u13e2\u13a1\u13da\u13a2\u13d9\u13b3\u13bd\u13c3', 'mprstvwyz'],
];

const twins: ReadonlyMap<string, string> = new Map(
  rows.flatMap(([letters, likeLatin]) =>
    [...letters].map((letter, index) => [letter, likeLatin.charAt(index)] as const),
  ),
);

const twinLetters = new RegExp(`[${[...twins.keys()].join('')}]`, 'gu');
