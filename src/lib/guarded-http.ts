/**
 * Single HTTP requests to addresses that somebody configured: the address is checked when connecting, redirects are not
 * followed, and a response is read up to a maximum size.
 */
import type { Agent } from 'undici'
import { createGuardedLookup, upstreamUrlProblem, type Cidr } from './address-guard.ts'

export interface GuardedRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** null: no body. */
  readonly body: string | Uint8Array | null
  /** Of the response; the rest is not read. */
  readonly maxBytes: number
  /** Ends the request earlier than the maximum time does. */
  readonly signal?: AbortSignal
}

export interface GuardedResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  /** The response is larger than the maximum. */
  readonly isCut: boolean
}

export class GuardedHttp implements AsyncDisposable {
  #agent: Agent | null = null
  readonly #allow: readonly Cidr[]
  readonly #timeoutMs: number

  constructor(allow: readonly Cidr[], timeoutMs: number) {
    this.#allow = allow
    this.#timeoutMs = timeoutMs
  }

  /** Throws if there was no response. */
  async request({
    method,
    url,
    headers,
    body,
    maxBytes,
    ...given
  }: GuardedRequest): Promise<GuardedResponse> {
    // A literal IP address is never looked up, so the guarded lookup does not see it.
    const forbidden = upstreamUrlProblem(url, this.#allow)
    if (forbidden !== null) throw new Error(forbidden)
    const { Agent, request } = await import('undici')
    const timeoutMs = this.#timeoutMs
    this.#agent ??= new Agent({
      connect: { lookup: createGuardedLookup(this.#allow), timeout: timeoutMs },
      keepAliveTimeout: 10_000,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    })
    const signals = [AbortSignal.timeout(timeoutMs), ...(given.signal === undefined ? [] : [given.signal])]
    const signal = AbortSignal.any(signals)
    const response = await request(url, { method, headers, body, dispatcher: this.#agent, signal })
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of response.body) {
      chunks.push(chunk as Buffer)
      size += (chunk as Buffer).length
      if (size > maxBytes) break
    }
    return {
      status: response.statusCode,
      headers: response.headers,
      body: Buffer.concat(chunks).subarray(0, maxBytes),
      isCut: size > maxBytes,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent?.destroy()
  }
}
