// The source as the compiler sees it: syntax trees with types, through the programming interface of
// the compiler that also checks the types. That interface is called unstable by its makers, so the
// few parts of it that the architecture tests need are named here and nowhere else.

import { fileURLToPath } from 'node:url';
import type { Node, SourceFile } from 'typescript/unstable/ast';
import { API, type Checker, type Type, TypeFlags } from 'typescript/unstable/sync';

export interface Source extends Disposable {
  readonly files: readonly { readonly name: string; readonly root: SourceFile }[];
  /** `planted-slips.ts`. */
  readonly planted: SourceFile;
  readonly checker: Checker;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const config = `${root}tsconfig.json`;

/** Every file of src/ but the tests. */
export function openSource(): Source {
  const api = new API({ cwd: root });
  const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
  if (project === undefined) throw new Error(`${config} cannot be opened`);
  const names = project.program
    .getSourceFileNames()
    .filter((name) => name.startsWith(`${root}src/`) && !name.endsWith('.test.ts'));
  const files = names.flatMap((name) => {
    const file = project.program.getSourceFile(name);
    return file === undefined ? [] : [{ name: name.slice(root.length), root: file }];
  });
  const planted = project.program.getSourceFile(`${root}test/architecture/planted-slips.ts`);
  if (planted === undefined) throw new Error('planted-slips.ts is not there');
  return { files, planted, checker: project.checker, [Symbol.dispose]: () => api.close() };
}

/** Every node below this one, and the node itself. */
export function* nodesIn(node: Node): Generator<Node> {
  yield node;
  const children: Node[] = [];
  node.forEachChild((child) => {
    children.push(child);
  });
  for (const child of children) yield* nodesIn(child);
}

/** FILE: TEXT, on one line. */
export function placeOf(name: string, file: SourceFile, node: Node): string {
  return `${name}: ${textOf(file, node)}`;
}

export function textOf(file: SourceFile, node: Node): string {
  return node.getText(file).replace(/\s+/g, ' ');
}

/** Can a value of this type be any string? Literals and unions of them are strings of our own. */
export function isAnyString(type: Type | undefined): boolean {
  if (type === undefined) return true;
  const parts = type.isUnionType() ? type.getTypes() : [type];
  const open = TypeFlags.Any | TypeFlags.Unknown | TypeFlags.String | TypeFlags.TemplateLiteral;
  const later = TypeFlags.TypeParameter | TypeFlags.StringMapping | TypeFlags.IndexedAccess;
  return parts.some(({ flags }) => (flags & (open | later)) !== 0);
}
