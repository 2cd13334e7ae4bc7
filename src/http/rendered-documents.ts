/**
 * Public documents as rendered bytes. They are the same for everybody and cost milliseconds to render and to compress, so
 * that is done once for each state of the data, however often strangers request them.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { negotiateEncoding } from './header-values.ts'

/** In the thread pool, so that the event loop goes on. */
const compress = promisify<Buffer, Buffer>(gzip)

export interface EncodedDocument {
  readonly bytes: Buffer<ArrayBuffer>
  /** `content-encoding`, if it is compressed. */
  readonly headers: Readonly<Record<string, string>>
  /** The entity tag of these bytes. */
  readonly etag: string
}

function encodeDocument(bytes: Buffer<ArrayBuffer>, headers: EncodedDocument['headers']): EncodedDocument {
  return { bytes, headers, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` }
}

export class RenderedDocument {
  readonly #plain: EncodedDocument
  #compressed: Promise<EncodedDocument> | undefined

  constructor(text: string) {
    this.#plain = encodeDocument(Buffer.from(text), {})
  }

  /** Compressed with gzip if `Accept-Encoding` allows it. A response must have `vary: accept-encoding`. */
  async encode(acceptEncoding: string | null | undefined): Promise<EncodedDocument> {
    const encoding = negotiateEncoding(acceptEncoding ?? undefined, ['gzip'])
    return encoding === null ? this.#plain : (this.#compressed ??= this.#compress(encoding))
  }

  async #compress(encoding: string): Promise<EncodedDocument> {
    return encodeDocument(Buffer.from(await compress(this.#plain.bytes)), { 'content-encoding': encoding })
  }
}

/** The documents rendered from the latest snapshot, by name. */
export class RenderedDocuments {
  #snapshot: unknown
  readonly #documents = new Map<string, RenderedDocument>()

  /** `render` is called if this snapshot has no document of this name yet. */
  get(snapshot: unknown, name: string, render: () => string): RenderedDocument {
    if (snapshot !== this.#snapshot) this.#documents.clear()
    this.#snapshot = snapshot
    const rendered = this.#documents.get(name) ?? new RenderedDocument(render())
    this.#documents.set(name, rendered)
    return rendered
  }
}
