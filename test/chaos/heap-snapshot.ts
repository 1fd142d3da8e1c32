// Reads the text of a heap snapshot: its nodes with their kind, name and size, and the edges between them. The
// format is that of V8: rows of numbers whose meaning stands in the snapshot itself.

interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly unknown[];
      readonly edge_fields: readonly string[];
      readonly edge_types: readonly unknown[];
    };
  };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}

export interface HeapEdge {
  /** Such as `property`, `element`, `internal` or `weak`. */
  readonly kind: string;
  /** Of the property; empty for an element. */
  readonly name: string;
  /** The number of the node. */
  readonly to: number;
}

/** Nodes are numbered from 0, which is the root. */
export class HeapSnapshot {
  readonly count: number;
  readonly #read: Snapshot;
  readonly #kinds: readonly string[];
  readonly #edgeKinds: readonly string[];
  /** Where the edges of each node begin. */
  readonly #firstEdges: Uint32Array;

  constructor(text: string) {
    this.#read = JSON.parse(text) as Snapshot;
    const { node_types: types, edge_types: edgeTypes, node_fields } = this.#read.snapshot.meta;
    this.#kinds = types[0] as readonly string[];
    this.#edgeKinds = edgeTypes[0] as readonly string[];
    this.count = this.#read.nodes.length / node_fields.length;
    this.#firstEdges = new Uint32Array(this.count + 1);
    for (let node = 0; node < this.count; node += 1) {
      const edges = this.#field(node, 'edge_count');
      this.#firstEdges[node + 1] = (this.#firstEdges[node] ?? 0) + edges;
    }
  }

  kind(node: number): string {
    return this.#kinds[this.#field(node, 'type')] ?? '';
  }

  name(node: number): string {
    return this.#read.strings[this.#field(node, 'name')] ?? '';
  }

  bytes(node: number): number {
    return this.#field(node, 'self_size');
  }

  *edges(node: number): Generator<HeapEdge> {
    const { node_fields, edge_fields } = this.#read.snapshot.meta;
    const { edges, strings } = this.#read;
    const width = edge_fields.length;
    const [kindAt, nameAt, toAt] = ['type', 'name_or_index', 'to_node'].map((field) =>
      edge_fields.indexOf(field),
    ) as [number, number, number];
    const end = this.#firstEdges[node + 1] ?? 0;
    for (let edge = this.#firstEdges[node] ?? 0; edge < end; edge += 1) {
      const kind = this.#edgeKinds[edges[edge * width + kindAt] ?? -1] ?? '';
      const isNamed = kind !== 'element' && kind !== 'hidden';
      const name = isNamed ? (strings[edges[edge * width + nameAt] ?? -1] ?? '') : '';
      yield { kind, name, to: (edges[edge * width + toAt] ?? 0) / node_fields.length };
    }
  }

  #field(node: number, field: string): number {
    const { node_fields } = this.#read.snapshot.meta;
    return this.#read.nodes[node * node_fields.length + node_fields.indexOf(field)] ?? 0;
  }
}
