// The first few of many things as text, and how many more there are: a file can be wrong in ten
// thousand places, and nobody reads on after the first.

const most = 20;

export function firstFew(items: readonly string[], between: string): string;
export function firstFew<T>(
  items: readonly T[],
  between: string,
  textOf: (item: T) => string,
): string;
export function firstFew<T>(
  items: readonly T[],
  between: string,
  textOf: (item: T) => string = String,
): string {
  const texts = items.slice(0, most).map((item) => textOf(item));
  if (items.length > most) texts.push(`and ${items.length - most} more`);
  return texts.join(between);
}
