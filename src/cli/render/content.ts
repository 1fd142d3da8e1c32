// Prints a tool's result for a person: text unchanged, everything else as one line that describes
// it. Structured content is shown only if there is no text, because servers that send both send the
// same data twice. --json prints all of it, byte for byte.

import { printableLine, printableText } from '../../kernel/printable.ts';
import { objectAt } from '../../wire/parts.ts';
import { indentedJson } from './json-indent.ts';
import { sizeText } from './quantity.ts';

export interface ShownResult {
  /** Whole lines, or nothing. */
  readonly text: string;
  readonly isError: boolean;
  /** Anything but "complete" means that the server needs something before it can answer. */
  readonly resultType: string | undefined;
}

/** With `isEscaped` control characters are escaped; without, text is unchanged. */
export function shownResult(bytes: Buffer, isEscaped: boolean): ShownResult {
  const result = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
  const { content, isError, resultType } = result;
  const blocks = Array.isArray(content) ? content.map(blockOf) : [];
  const parts = blocks.map((block) =>
    block.kind === 'text' && !isEscaped ? block.text : printableText(block.text),
  );
  const structured = structuredText(bytes);
  if (structured !== undefined && blocks.every(({ kind }) => kind !== 'text')) {
    parts.push(isEscaped ? printableText(structured) : structured);
  }
  return {
    text: parts.map(ended).join(''),
    isError: isError === true,
    resultType: typeof resultType === 'string' ? resultType : undefined,
  };
}

interface Block {
  readonly kind: 'text' | 'other';
  readonly text: string;
}

function blockOf(block: unknown): Block {
  const { type, text } = membersOf(block);
  if (type === 'text' && typeof text === 'string') return { kind: 'text', text };
  return { kind: 'other', text: describedBlock(membersOf(block)) };
}

/** Type, media type, address and size, as far as they are known: `[image image/png 1.2 kB]`. */
function describedBlock(block: Record<string, unknown>): string {
  const inner = membersOf(block['resource']);
  const uri = block['uri'] ?? inner['uri'];
  const mimeType = block['mimeType'] ?? inner['mimeType'];
  const bytes = sizeOf(block['data'] ?? inner['blob'], 'base64') ?? sizeOf(inner['text'], 'utf8');
  const words = [block['type'] ?? 'content', mimeType, uri]
    .filter((word) => typeof word === 'string')
    .map((word) => printableLine(word));
  return `[${[...words, ...(bytes === undefined ? [] : [sizeText(bytes)])].join(' ')}]`;
}

function sizeOf(data: unknown, encoding: 'base64' | 'utf8'): number | undefined {
  return typeof data === 'string' ? Buffer.byteLength(data, encoding) : undefined;
}

/** Taken from the bytes, because parsing would change numbers beyond a double. */
function structuredText(bytes: Buffer): string | undefined {
  const whole = objectAt(bytes, { start: 0, end: bytes.length });
  const span = whole?.get('structuredContent');
  return span && indentedJson(bytes.toString('utf8', span.start, span.end));
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
