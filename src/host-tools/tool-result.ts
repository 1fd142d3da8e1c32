// The results of Holdfast's own tools, as JSON text that is put into a frame unchanged. The text
// block is for the model; structured content is included only when JSON was requested, because the
// same data twice costs twice the context. The gateway adds what an era requires.

export function textResult(text: string): string {
  return `{"content":[${textBlock(text)}]}`;
}

/** For a tool that was called correctly and could not do its work. */
export function errorResult(text: string): string {
  return `{"content":[${textBlock(text)}],"isError":true}`;
}

/** The value as structured content, and as text for clients that do not support it. */
export function jsonResult(value: object): string {
  const json = JSON.stringify(value);
  return `{"content":[${textBlock(json)}],"structuredContent":${json}}`;
}

function textBlock(text: string): string {
  return `{"type":"text","text":${JSON.stringify(text)}}`;
}
