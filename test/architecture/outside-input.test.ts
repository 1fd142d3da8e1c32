// Three slips by which one neighbour's input could end the whole gateway, looked for in the source by
// its types. A string from outside must not be looked up in a plain object, where it may find what
// every object inherits (`constructor`). An array of any length must not be spread into the arguments
// of a call, where a long one throws. And a promise that nobody waits for must end in a `catch`, or
// its rejection ends the process.

import type { Expression, Node, SourceFile } from 'typescript/unstable/ast';
import { SyntaxKind } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import type { Type } from 'typescript/unstable/sync';
import { afterAll, describe, expect, it } from 'vitest';
import { isAnyString, nodesIn, openSource, placeOf, textOf } from './source.ts';

const source = openSource();
afterAll(() => source[Symbol.dispose]());

type Rule = (file: SourceFile) => readonly Node[];

/** What a rule finds in src/, but for what stands here with the reason why it is right. */
function findings(rule: Rule, allowed: Readonly<Record<string, string>> = {}): readonly string[] {
  const found = source.files.flatMap(({ name, root }) =>
    rule(root).map((node) => placeOf(name, root, node)),
  );
  const unused = Object.keys(allowed).filter((place) => !found.includes(place));
  return [...found.filter((place) => !Object.hasOwn(allowed, place)), ...unused];
}

function planted(rule: Rule): readonly string[] {
  const root = source.planted;
  return rule(root).map((node) => textOf(root, node));
}

// --- looking up ----------------------------------------------------------------------------

/** `object[key]` and `key in object` where the key can be any string and the object inherits. */
const lookups: Rule = (file) => {
  const bare = namesWithoutPrototype(file);
  const found = [...nodesIn(file)].flatMap((node) => {
    const [object, key] = lookupIn(node) ?? [];
    if (object === undefined || key === undefined || bare.has(textOf(file, object))) return [];
    const isFixed =
      is.isStringLiteral(key) || is.isNumericLiteral(key) || is.isPrivateIdentifier(key);
    return isFixed ? [] : [{ node, key }];
  });
  const types = source.checker.getTypeAtLocation(found.map(({ key }) => withoutCasts(key)));
  return found.filter((_, index) => isAnyString(types[index])).map(({ node }) => node);
};

function lookupIn(node: Node): readonly [Node, Expression] | undefined {
  if (is.isElementAccessExpression(node)) return [node.expression, node.argumentExpression];
  if (is.isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.InKeyword) {
    return [node.right, node.left];
  }
  if (is.isBindingElement(node) && node.propertyName !== undefined) {
    const name = node.propertyName;
    return is.isComputedPropertyName(name) ? [node, name.expression] : undefined;
  }
  return undefined;
}

/** A cast says that a string is one of ours; it does not make it so. */
function withoutCasts(key: Expression): Expression {
  return is.isAsExpression(key) ? withoutCasts(key.expression) : key;
}

/** Variables that hold an object without a prototype. */
function namesWithoutPrototype(file: SourceFile): ReadonlySet<string> {
  const bare = [...nodesIn(file)].flatMap((node) => {
    if (!is.isVariableDeclaration(node) || node.initializer === undefined) return [];
    const isBare = textOf(file, node.initializer) === 'Object.create(null)';
    return isBare ? [textOf(file, node.name)] : [];
  });
  return new Set(bare);
}

describe('a string from outside', () => {
  it('is looked up in a Map or by `ownValue`, never in a plain object', () => {
    const allowed = {
      'src/kernel/own-value.ts: object[key]': 'behind Object.hasOwn: the one place for it',
    };
    expect(findings(lookups, allowed)).toEqual([]);
  });

  it('would be found if it were', () => {
    expect(planted(lookups)).toEqual([
      '[method]: taken',
      'table[method]',
      'words[outcome as keyof typeof words]',
      'method in table',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the source
      'table[`x-${method}`]',
      'into[key]',
    ]);
  });
});

// --- spreading -----------------------------------------------------------------------------

const spreads: Rule = (file) =>
  [...nodesIn(file)].filter((node) => {
    if (!is.isCallExpression(node) && !is.isNewExpression(node)) return false;
    return (node.arguments ?? []).some(
      (argument) => is.isSpreadElement(argument) && !isTuple(argument.expression),
    );
  });

/** As many elements as its type says. */
function isTuple(node: Node): boolean {
  const type = source.checker.getTypeAtLocation(node);
  const target = type?.isTypeReference() ? type.getTarget() : undefined;
  return target?.isTupleType() ?? false;
}

describe('an array', () => {
  it('is never spread into the arguments of a call, unless it is known to be short', () => {
    const allowed = {
      'src/upstream/stdio/outbox.ts: pieces.push(...frame)': 'the pieces of one frame: a handful',
      'src/downstream/incoming.ts: resultFrame(this.id, ...result)': 'the pieces of one result',
      'src/store/sqlite/tables.ts: this.sql(`INSERT OR REPLACE INTO ${table} VALUES (${places})`).run(...values, digestOf(values))':
        'the columns of a table',
      'src/store/sqlite/tables.ts: this.#statement.get(...values)': 'the same',
      'src/store/sqlite/tables.ts: this.#statement.iterate(...values)': 'the same',
    };
    expect(findings(spreads, allowed)).toEqual([]);
  });

  it('would be found if it were', () => {
    expect(planted(spreads)).toEqual(['into.push(...page)', 'Math.max(0, ...page)']);
  });
});

// --- promises ------------------------------------------------------------------------------

/** Statements and `void` expressions that drop a promise without a `catch` at its end. */
const dropped: Rule = (file) => {
  const found = [...nodesIn(file)].flatMap((node) => {
    if (!is.isExpressionStatement(node) && !is.isVoidExpression(node)) return [];
    const { expression } = node;
    return isKept(expression) || endsInCatch(expression) ? [] : [{ node, expression }];
  });
  const types = source.checker.getTypeAtLocation(found.map(({ expression }) => expression));
  return found.filter((_, index) => isPromise(types[index])).map(({ node }) => node);
};

function isKept(node: Expression): boolean {
  return is.isBinaryExpression(node) || is.isAwaitExpression(node) || is.isVoidExpression(node);
}

function isPromise(type: Type | undefined): boolean {
  return type?.getSymbol()?.name === 'Promise';
}

function endsInCatch(node: Node): boolean {
  if (!is.isCallExpression(node) || !is.isPropertyAccessExpression(node.expression)) return false;
  return node.expression.name.text === 'catch';
}

describe('a promise that is not awaited', () => {
  it('ends in a catch', () => {
    expect(findings(dropped)).toEqual([]);
  });

  it('would be found if it did not', () => {
    expect(planted(dropped)).toEqual(['void work()', 'work().then( () => {}, () => {}, );']);
  });
});
