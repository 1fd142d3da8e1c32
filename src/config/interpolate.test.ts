// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the subject

import { describe, expect, it } from 'vitest';
import { interpolate } from './interpolate.ts';

const variables = {
  env: { TOKEN: 's3cret', EMPTY: '', NESTED: '${TOKEN}' },
  folder: '/srv/project',
  home: '/home/me',
  inputs: new Map([['region', 'eu']]),
};
const path = ['mcpServers', 'docs', 'args', 0];
const replaced = (text: string) => interpolate(text, path, variables);

describe('variables in a config value', () => {
  it.each([
    ['Bearer ${env:TOKEN}', 'Bearer s3cret'],
    ['${TOKEN}-${TOKEN}', 's3cret-s3cret'],
    ['${NOPE:-plan b}', 'plan b'],
    ['${env:NOPE:-}', ''],
    ['${env:NOPE:-https://x:8080/?a=b}', 'https://x:8080/?a=b'],
    ['${EMPTY:-full}', 'full'],
    ['[${EMPTY}]', '[]'],
    ['${workspaceFolder}/src', '/srv/project/src'],
    ['${workspaceFolderBasename}', 'project'],
    ['${userHome}/x', '/home/me/x'],
    ['${input:region}', 'eu'],
    ['$${TOKEN}', '${TOKEN}'],
    ['$$${TOKEN}', '$${TOKEN}'],
    ['$${$${${TOKEN}', '${${s3cret'],
    ['cost: $5, $TOKEN, {TOKEN}', 'cost: $5, $TOKEN, {TOKEN}'],
  ])('turn %j into %j', (text, result) => {
    expect(replaced(text)).toMatchObject({ value: result, gaps: [] });
  });

  it('are reported once for an unclosed text, however often it begins', () => {
    const text = `\${TOKEN} ${'${A'.repeat(100_000)}`;
    const { value, gaps } = replaced(text);
    expect(gaps).toHaveLength(1);
    expect(String(value).startsWith('s3cret ${A')).toBe(true);
  });

  it('are named in causes of one line, whatever they contain', () => {
    const { gaps } = replaced(`\${input:a\nb} \${${'x y'.repeat(1_000)}}`);
    for (const { cause } of gaps) {
      expect(cause).not.toContain('\n');
      expect(cause.length).toBeLessThan(300);
    }
    expect(gaps).toHaveLength(2);
  });

  it('in capital letters are told how they are written', () => {
    const { gaps } = interpolate(
      '${CMD:pass show key}',
      ['mcpServers', 'a', 'env', 'KEY'],
      variables,
    );
    expect(gaps[0]?.cause).toContain('write ${cmd:…}, in small letters');
  });

  it('are not looked for in what a variable brings in', () => {
    expect(replaced('${NESTED}').value).toBe('${TOKEN}');
  });

  it('leave a gap that names the variable and the place when one is not set', () => {
    const { gaps } = interpolate(
      { headers: { Authorization: 'Bearer ${env:DOCS_TOKEN}' } },
      ['mcpServers', 'docs'],
      variables,
    );
    expect(gaps).toMatchObject([{ path: ['mcpServers', 'docs', 'headers', 'Authorization'] }]);
    expect(gaps[0]?.cause).toContain('mcpServers.docs.headers.Authorization');
    expect(gaps[0]?.cause).toContain('DOCS_TOKEN');
  });

  it('report an input as one that cannot be asked for', () => {
    expect(replaced('${input:api-key}').gaps[0]?.cause).toMatch(/"api-key".*cannot ask for/);
  });

  it.each(['${command:pick}', '${A B}', '${', 'x ${unclosed', '${A:-${TOKEN}}', '${}', '${1A}'])(
    'never pass %j on as a silent literal',
    (text) => expect(replaced(text).gaps).toHaveLength(1),
  );

  it('are found by their own name only, not by an inherited one', () => {
    expect(replaced('${constructor}').gaps).toHaveLength(1);
  });

  it('are replaced in values, not in keys', () => {
    expect(interpolate({ '${TOKEN}': ['${TOKEN}', 1, null] }, path, variables).value).toEqual({
      '${TOKEN}': ['s3cret', 1, null],
    });
  });
});
