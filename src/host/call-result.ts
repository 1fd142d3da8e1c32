// The result of a tool in MCP's terms: the kinds of content, the result of a call, and progress.
// Members that are not described here are kept as the server sent them.

/** For whom a piece of content is meant, and how much it matters. */
export interface ContentAnnotations {
  /** Who it is meant for; absent: not said. */
  readonly audience?: readonly ('user' | 'assistant')[];
  /** From 0 (optional) to 1 (required); absent: not said. */
  readonly priority?: number;
  /** When it was last changed, as an ISO 8601 date and time; absent: not said. */
  readonly lastModified?: string;
}

/** What every piece of content may carry. */
export interface ContentMembers {
  /** Hints for a client that shows it; absent: none. */
  readonly annotations?: ContentAnnotations;
  /** What the server and its clients agreed on beyond MCP; absent: nothing. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** Text. */
export interface TextContent extends ContentMembers {
  /** Marks text. */
  readonly type: 'text';
  /** The text itself. */
  readonly text: string;
}

/** An image. */
export interface ImageContent extends ContentMembers {
  /** Marks an image. */
  readonly type: 'image';
  /** The image, in base64. */
  readonly data: string;
  /** Its media type, such as `image/png`. */
  readonly mimeType: string;
}

/** A sound. */
export interface AudioContent extends ContentMembers {
  /** Marks a sound. */
  readonly type: 'audio';
  /** The sound, in base64. */
  readonly data: string;
  /** Its media type, such as `audio/wav`. */
  readonly mimeType: string;
}

/** The address of a resource that the server can be asked to read. */
export interface ResourceLink extends ContentMembers {
  /** Marks a link. */
  readonly type: 'resource_link';
  /** Where the resource is. */
  readonly uri: string;
  /** What the server calls it. */
  readonly name: string;
  /** Its name for people; absent: use `name`. */
  readonly title?: string;
  /** What it is, in words; absent: not said. */
  readonly description?: string;
  /** Its media type; absent: not known. */
  readonly mimeType?: string;
  /** Its length in bytes before any encoding; absent: not known. */
  readonly size?: number;
}

/** A resource that holds text. */
export interface TextResource {
  /** Where the resource is. */
  readonly uri: string;
  /** Its media type; absent: not known. */
  readonly mimeType?: string;
  /** Its text. */
  readonly text: string;
  /** What the server and its clients agreed on beyond MCP; absent: nothing. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A resource that holds bytes. */
export interface BlobResource {
  /** Where the resource is. */
  readonly uri: string;
  /** Its media type; absent: not known. */
  readonly mimeType?: string;
  /** Its bytes, in base64. */
  readonly blob: string;
  /** What the server and its clients agreed on beyond MCP; absent: nothing. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A resource with its content. */
export interface EmbeddedResource extends ContentMembers {
  /** Marks a resource. */
  readonly type: 'resource';
  /** The resource: text or bytes. */
  readonly resource: TextResource | BlobResource;
}

/** Exists in types only; see `OtherKind`. */
declare const unknownKind: unique symbol;

/** Marks the name of a kind that is not described here. */
export interface UnknownKind {
  /** Exists in types only. */
  readonly [unknownKind]: true;
}

/**
 * The name of a kind that is not described here: any text but the names of the known kinds. The mark
 * exists in types only. With it, comparing `type` with a known name leaves only that kind.
 */
export type OtherKind = `${string & UnknownKind}`;

/** Content of a kind that is not described here; it is kept as it came. */
export interface OtherContent {
  /** The name of the kind. To compare it with a name of your own, assign it to a `string` first. */
  readonly type: OtherKind;
  /** The members of that kind. */
  readonly [member: string]: unknown;
}

/** One piece of a tool's answer; `type` tells the kinds apart. */
export type ContentBlock =
  | TextContent
  | ImageContent
  | AudioContent
  | ResourceLink
  | EmbeddedResource
  | OtherContent;

/**
 * A tool's answer as MCP defines it. What the server sent beyond these members is there too; `callRaw`
 * gives the bytes as they came.
 */
export interface CallResult {
  /** The answer for a model or a person, piece by piece; absent: the server sent none. */
  readonly content?: readonly ContentBlock[];
  /** The answer as data, described by the tool's output schema if it has one; absent: the server sent none. */
  readonly structuredContent?: unknown;
  /** True: the tool ran and failed, and `content` says why. Absent or false: it succeeded. */
  readonly isError?: boolean;
  /**
   * From servers of MCP 2026-07-28: `complete`, or what the server waits for before it answers, such as
   * `input_required`. Absent: `complete`.
   */
  readonly resultType?: string;
  /** What the server and its clients agreed on beyond MCP; absent: nothing. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** The progress of a call, as its server reports it. */
export interface Progress {
  /** How much is done; it grows with every report, in units of the server's own. */
  readonly progress: number;
  /** How much there is to do, in the same units; absent: not known. */
  readonly total?: number;
  /** What it is doing, in words; absent: not said. */
  readonly message?: string;
  /** What the server and its clients agreed on beyond MCP; absent: nothing. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}
