// The content of a result: `type` tells the kinds apart, and kinds that are not described are there, too.

import type { CallResult, ContentBlock } from 'holdfast';

export function textOf(result: CallResult): string {
  const [first] = result.content ?? [];
  return first?.type === 'text' ? first.text : '';
}

export function sizeOf(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
      return block.text.length;
    case 'image':
    case 'audio':
      return block.data.length;
    case 'resource_link':
      return block.size ?? 0;
    case 'resource':
      return 'text' in block.resource ? block.resource.text.length : block.resource.blob.length;
    default: {
      const kind: string = block.type;
      return kind === 'video' ? String(block['data']).length : 0;
    }
  }
}

export const misread = [
  (result: CallResult) => result.contents, // error at contents
  (result: CallResult) => result.isError === 'true', // error at result
  (block: ContentBlock) => block.type === 'text' && block.data, // error at data
  (block: ContentBlock) => block.type === 'image' && block.mimetype, // error at mimetype
];
