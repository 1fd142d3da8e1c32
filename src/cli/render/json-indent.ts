// Indents JSON without parsing it: only the white space between tokens changes, so a number beyond
// a double or a duplicate key is shown unchanged. The text must be valid JSON.

const indent = '  ';

/** A string, a bracket, a separator, or anything else up to the next of these. */
const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

export function indentedJson(text: string): string {
  let result = '';
  let depth = 0;
  let before = '';
  const onNewLine = () => `\n${indent.repeat(depth)}`;
  for (const [word] of text.matchAll(token)) {
    if (word === '}' || word === ']') {
      depth -= 1;
      result += before === '{' || before === '[' ? word : onNewLine() + word;
    } else {
      if (before === '{' || before === '[' || before === ',') result += onNewLine();
      result += word === ':' ? ': ' : word;
      if (word === '{' || word === '[') depth += 1;
    }
    before = word;
  }
  return result;
}
