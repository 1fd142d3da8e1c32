// The type of a route, and how the route of a request is found. A row of the table (the rows are in
// routes.ts) has a path, who may use it and a handler for each method; a method with a body has its
// limit too. A path or method without a row does not exist. A path may end in `/:name`, which
// matches exactly one segment. A segment with anything but letters, digits and `-._~` matches
// nothing: nothing is decoded, so that a name can be written in only one way.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '../../policy/principal.ts';

/** One request, as its handler gets it. */
export interface RequestContext<Who = Principal> {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The principal; undefined on a public route, which needs no credential. */
  readonly principal: Who;
  /** The whole body; empty where the method takes none. */
  readonly body: Buffer;
  /** The request target as it was sent, with its query. */
  readonly url: string;
  /** The segment that matched `:name`, on a route that has one. */
  readonly parameter: string | undefined;
}

export type Handler<Who = Principal> = (context: RequestContext<Who>) => void;

interface MethodWithoutBody<Who> {
  readonly handle: Handler<Who>;
  readonly body?: undefined;
}

interface MethodWithBody<Who> {
  readonly handle: Handler<Who>;
  /** A body is JSON, and has at most so many bytes. */
  readonly body: { readonly maxBytes: number };
}

export type RouteMethod<Who> = MethodWithoutBody<Who> | MethodWithBody<Who>;

/** In the order of the header `Allow`. */
type Methods<Who> = {
  readonly GET?: MethodWithoutBody<Who>;
  readonly HEAD?: MethodWithoutBody<Who>;
  readonly DELETE?: MethodWithoutBody<Who>;
  readonly POST?: MethodWithBody<Who>;
};

/** Everybody who reaches the port, without a credential. */
interface PublicRoute {
  readonly path: string;
  readonly access: 'public';
  readonly methods: Methods<undefined>;
}

/** Everybody with a valid credential; or of those only an operator. */
interface PrincipalRoute {
  readonly path: string;
  readonly access: 'principal' | 'operator';
  /** The principal behind this path, which takes rights away; undefined if nothing is left of them. */
  readonly narrow?: (principal: Principal, parameter: string) => Principal | undefined;
  readonly methods: Methods<Principal>;
}

export type HttpRoute = PublicRoute | PrincipalRoute;

/** What is done for one method of a route, and for whom. */
export type RouteEntry =
  | ({ readonly access: 'public' } & RouteMethod<undefined>)
  | ({ readonly access: 'principal' | 'operator' } & RouteMethod<Principal>);

export class Route {
  /** The methods of the route, as the header `Allow` lists them. */
  readonly allow: string;
  readonly #narrow: PrincipalRoute['narrow'];
  readonly #entries: ReadonlyMap<string, RouteEntry>;
  /** Where the parameter begins in a target; undefined if the path has none. */
  readonly #parameterAt: number | undefined;

  constructor(row: HttpRoute, parameterAt: number | undefined) {
    this.allow = Object.keys(row.methods).join(', ');
    this.#entries =
      row.access === 'public'
        ? entriesOf(row.access, row.methods)
        : entriesOf(row.access, row.methods);
    this.#parameterAt = parameterAt;
    this.#narrow = row.access === 'public' ? undefined : row.narrow;
  }

  /** The principal as the handlers of this route get it; undefined: there is no such route for it. */
  principalFor(principal: Principal, target: string): Principal | undefined {
    if (this.#narrow === undefined) return principal;
    return this.#narrow(principal, this.parameterIn(target) ?? '');
  }

  entryFor(method: string | undefined): RouteEntry | undefined {
    return method === undefined ? undefined : this.#entries.get(method);
  }

  /** The parameter in a target that this route was found for. */
  parameterIn(target: string): string | undefined {
    if (this.#parameterAt === undefined) return undefined;
    return pathOf(target).slice(this.#parameterAt);
  }
}

export class RouteTable {
  readonly #byPath: ReadonlyMap<string, Route>;
  /** By the text before the parameter, with its slash. */
  readonly #byPrefix: ReadonlyMap<string, Route>;

  constructor(rows: readonly HttpRoute[]) {
    const paths = new Map<string, Route>();
    const prefixes = new Map<string, Route>();
    for (const row of rows) {
      const prefix = /^(.*\/):\w+$/.exec(row.path)?.[1];
      const [known, key] = prefix === undefined ? [paths, row.path] : [prefixes, prefix];
      if (known.has(key)) throw new TypeError(`two routes have the path ${row.path}`);
      known.set(key, new Route(row, prefix?.length));
    }
    this.#byPath = paths;
    this.#byPrefix = prefixes;
  }

  /** The route of a request target; its query does not count. */
  find(target: string): Route | undefined {
    const exact = this.#byPath.get(target);
    if (exact !== undefined) return exact;
    const path = pathOf(target);
    return this.#byPath.get(path) ?? this.#byPrefixOf(path);
  }

  #byPrefixOf(path: string): Route | undefined {
    const start = path.lastIndexOf('/') + 1;
    return segment.test(path.slice(start)) ? this.#byPrefix.get(path.slice(0, start)) : undefined;
  }
}

/** The characters that mean themselves in a path (RFC 3986, 2.3). */
const segment = /^[\w.~-]+$/;

function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end === -1 ? target : target.slice(0, end);
}

function entriesOf<Access extends HttpRoute['access'], Who>(
  access: Access,
  methods: Methods<Who>,
): ReadonlyMap<string, { readonly access: Access } & RouteMethod<Who>> {
  return new Map(Object.entries(methods).map(([name, method]) => [name, { ...method, access }]));
}
