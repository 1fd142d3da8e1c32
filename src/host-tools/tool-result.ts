// The results of Holdfast's own tools, as JSON text that goes into a frame as it is. The text block
// is what a model reads; structured content is there only when JSON was asked for, because the same
// thing twice costs twice the context. What an era adds to a result is left to the gateway.

export function textResult(text: string): string {
  return `{"content":[${textBlock(text)}]}`;
}

/** For a tool that was called rightly and could not do its work. */
export function errorResult(text: string): string {
  return `{"content":[${textBlock(text)}],"isError":true}`;
}

/** The value as structured content, and as text for clients that know no other. */
export function jsonResult(value: object): string {
  const json = JSON.stringify(value);
  return `{"content":[${textBlock(json)}],"structuredContent":${json}}`;
}

function textBlock(text: string): string {
  return `{"type":"text","text":${JSON.stringify(text)}}`;
}
