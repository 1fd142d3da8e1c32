// A text as it is, and with its escapes undone: those of JSON (also of JSON inside of JSON, and \xHH,
// with which we show control characters ourselves) and those of addresses and forms. Whoever looks
// for something in a text finds it in one of these views, however it was escaped, and gets the place
// in the text itself. Each view takes time and memory in proportion to the text, and exists only if
// the text has such escapes.

export interface View {
  readonly text: string;
  /** Where each character begins in the original text, and where that ends; null: the same places. */
  readonly places: Uint32Array | null;
}

/** The text itself comes first. */
export function viewsOf(text: string): readonly View[] {
  const views: View[] = [{ text, places: null }];
  for (let depth = 0; depth < deepestJson; depth += 1) {
    const inner = unescaped(views.at(-1) as View, '\\', jsonEscape);
    if (inner === undefined) break;
    views.push(inner);
  }
  // Of what is JSON twice, an address is not looked for.
  for (const view of views.slice(0, 2)) {
    const address = unescaped(view, '%', percentEscape);
    if (address !== undefined) views.push(address);
    // In a form a space is a plus sign, and a plus sign is escaped.
    const spaced = unescaped(view, '+', plusEscape);
    if (spaced !== undefined) views.push(unescaped(spaced, '%', percentEscape) ?? spaced);
  }
  return views;
}

/** The place in the original text. */
export function placeIn({ places }: View, at: number): number {
  return places === null ? at : (places[at] ?? 0);
}

/** Without an escape that is not complete at the end of a text that was cut. */
export function withoutPartialEscape(text: string): string {
  return text.replace(
    /(?:\\+(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?|(?:%[89A-Fa-f][0-9A-Fa-f])*(?:%[0-9A-Fa-f]?)?)$/,
    '',
  );
}

const deepestJson = 2;

/** What an escape at a place stands for, and its length; undefined if there is none. */
type Escape = (text: string, at: number) => readonly [meant: string, length: number] | undefined;

function unescaped(view: View, sign: string, escapeAt: Escape): View | undefined {
  const { text } = view;
  let at = text.indexOf(sign);
  if (at < 0) return undefined;
  const places = new Uint32Array(text.length + 1);
  const pieces: string[] = [];
  let length = 0;
  let from = 0;
  const copy = (to: number) => {
    for (let one = from; one < to; one += 1) places[length++] = placeIn(view, one);
    pieces.push(text.slice(from, to));
    from = to;
  };
  let isSame = true;
  for (; at >= 0; at = text.indexOf(sign, Math.max(from, at + 1))) {
    const found = escapeAt(text, at);
    if (found === undefined) continue;
    isSame = false;
    copy(at);
    const [meant, taken] = found;
    for (let one = 0; one < meant.length; one += 1) places[length++] = placeIn(view, at);
    pieces.push(meant);
    from = at + taken;
  }
  if (isSame) return undefined;
  copy(text.length);
  places[length] = placeIn(view, text.length);
  return { text: pieces.join(''), places };
}

const simple: ReadonlyMap<string, string> = new Map([
  ...['"', "'", '\\', '/'].map((sign) => [sign, sign] as const),
  ...([
    ['n', '\n'],
    ['r', '\r'],
    ['t', '\t'],
    ['b', '\b'],
    ['f', '\f'],
  ] as const),
]);

const jsonEscape: Escape = (text, at) => {
  const sign = text[at + 1] ?? '';
  const meant = simple.get(sign);
  if (meant !== undefined) return [meant, 2];
  const digits = sign === 'u' ? 4 : sign === 'x' ? 2 : 0;
  const code = digits === 0 ? -1 : hexAt(text, at + 2, digits);
  return code < 0 ? undefined : [String.fromCharCode(code), 2 + digits];
};

const percentEscape: Escape = (text, at) => {
  const first = hexAt(text, at + 1, 2);
  if (first < 0) return undefined;
  if (first < 0x80) return [String.fromCharCode(first), 3];
  const count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  const bytes = [first];
  for (let next = 1; next < count; next += 1) {
    const place = at + 3 * next;
    const byte = text[place] === '%' ? hexAt(text, place + 1, 2) : -1;
    if (byte < 0) return undefined;
    bytes.push(byte);
  }
  const whole = Buffer.from(bytes);
  const meant = whole.toString('utf8');
  // What is no character becomes another one, which has other bytes.
  return Buffer.from(meant).equals(whole) ? [meant, 3 * count] : undefined;
};

const plusEscape: Escape = () => [' ', 1];

/** -1 if these are not hexadecimal digits. */
function hexAt(text: string, at: number, digits: number): number {
  let value = 0;
  for (let one = at; one < at + digits; one += 1) {
    const digit = Number.parseInt(text[one] ?? '', 16);
    if (Number.isNaN(digit)) return -1;
    value = value * 16 + digit;
  }
  return value;
}
