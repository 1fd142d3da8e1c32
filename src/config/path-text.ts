// How a place in the configuration is written for a person: `mcpServers.docs.args[0]`, and with quotes
// where a name would be misread: `mcpServers["a.b"].env`.

export function pathText(path: readonly (string | number)[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (!/^[A-Za-z0-9_$-]+$/.test(step)) text += `[${JSON.stringify(step)}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}
