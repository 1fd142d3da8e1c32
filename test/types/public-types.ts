// The types that a user of the library can see: from the names that dist/index.d.ts exports, through every
// type that their declarations mention, as far as it is declared in dist. Private members are left out.

import { fileURLToPath } from 'node:url';
import type { Node, SourceFile } from 'typescript/unstable/ast';
import { SyntaxKind } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API, SymbolFlags } from 'typescript/unstable/sync';

export interface PublicType {
  readonly name: string;
  /** Can it be imported from the package? */
  readonly isExported: boolean;
  readonly comment: string;
  readonly members: readonly PublicMember[];
}

export interface PublicMember {
  /** TYPE.MEMBER, with the members in between. */
  readonly name: string;
  readonly comment: string;
}

const folder = fileURLToPath(new URL('.', import.meta.url));
const dist = fileURLToPath(new URL('../../dist/', import.meta.url));

/** Every type that can be seen, by name; needs a build. */
export function publicTypes(): readonly PublicType[] {
  const api = new API({ cwd: folder });
  try {
    const config = `${folder}tsconfig.json`;
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    const index = project?.program.getSourceFile(`${dist}index.d.ts`);
    if (project === undefined || index === undefined) throw new Error('dist/ is missing: build it');
    const { checker, program } = project;

    const found = new Map<string, PublicType>();
    /** What a name stands for, if that is declared in dist, and everything that its declaration mentions. */
    const visit = (name: Node): void => {
      const symbol = checker.getSymbolAtLocation(name);
      if (symbol === undefined) return;
      const meant = symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      for (const handle of meant.declarations) {
        const file = program.getSourceFile(handle.path);
        const node = handle.resolve(project);
        if (!file?.fileName.startsWith(dist) || node === undefined || !isDeclaration(node))
          continue;
        if (found.has(meant.name)) continue;
        const members = [...membersIn(file, node, meant.name)];
        const comment = commentOf(file, node);
        found.set(meant.name, { name: meant.name, isExported: false, comment, members });
        for (const reference of referencesIn(node)) visit(reference);
      }
    };

    const exported = [...nodesIn(index)].filter(is.isExportSpecifier);
    const names = new Set(exported.map(({ name }) => name.getText(index)));
    for (const specifier of exported) visit(specifier.name);
    return [...found.values()].map((type) => ({ ...type, isExported: names.has(type.name) }));
  } finally {
    api.close();
  }
}

function* nodesIn(node: Node): Generator<Node> {
  yield node;
  const children: Node[] = [];
  node.forEachChild((child) => void children.push(child));
  for (const child of children) yield* nodesIn(child);
}

function isDeclaration(node: Node): boolean {
  return (
    is.isInterfaceDeclaration(node) ||
    is.isTypeAliasDeclaration(node) ||
    is.isClassDeclaration(node) ||
    is.isFunctionDeclaration(node)
  );
}

/** The names of types that a declaration mentions. */
function* referencesIn(declaration: Node): Generator<Node> {
  for (const node of visibleNodesIn(declaration)) {
    if (is.isTypeReferenceNode(node)) yield node.typeName;
    if (is.isExpressionWithTypeArguments(node)) yield node.expression;
  }
}

function* membersIn(file: SourceFile, node: Node, path: string): Generator<PublicMember> {
  const children: Node[] = [];
  node.forEachChild((child) => void children.push(child));
  for (const child of children) {
    if (isPrivate(child)) continue;
    const name = memberName(file, child);
    if (name !== undefined) yield { name: `${path}.${name}`, comment: commentOf(file, child) };
    yield* membersIn(file, child, name === undefined ? path : `${path}.${name}`);
  }
}

function* visibleNodesIn(node: Node): Generator<Node> {
  yield node;
  const children: Node[] = [];
  node.forEachChild((child) => void children.push(child));
  for (const child of children) if (!isPrivate(child)) yield* visibleNodesIn(child);
}

function memberName(file: SourceFile, node: Node): string | undefined {
  if (is.isIndexSignatureDeclaration(node)) return '[any other]';
  if (is.isConstructorDeclaration(node)) return 'constructor';
  const isMember =
    is.isPropertySignatureDeclaration(node) ||
    is.isMethodSignatureDeclaration(node) ||
    is.isPropertyDeclaration(node) ||
    is.isMethodDeclaration(node) ||
    is.isGetAccessorDeclaration(node);
  return isMember ? node.name.getText(file) : undefined;
}

function isPrivate(node: Node): boolean {
  const hasPrivateName = is.isPropertyDeclaration(node) && is.isPrivateIdentifier(node.name);
  const modifiers = 'modifiers' in node ? (node.modifiers as readonly Node[] | undefined) : [];
  return hasPrivateName || (modifiers ?? []).some(({ kind }) => kind === SyntaxKind.PrivateKeyword);
}

/** The doc comment right before a declaration; empty if it has none. */
function commentOf(file: SourceFile, node: Node): string {
  const before = file.text.slice(node.getFullStart(), node.getStart(file));
  return (
    /\/\*\*([\s\S]*?)\*\/\s*$/
      .exec(before)?.[1]
      ?.replace(/\s*\n\s*\*?\s*/g, ' ')
      .trim() ?? ''
  );
}
