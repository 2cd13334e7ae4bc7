/**
 * Tokens for providers that want one got by signing in. One is fetched per credential, by whoever needs it first, and
 * kept until shortly before it ends or until the provider no longer takes it.
 */
import { headerLines, type AnswerHandler, type AnswerHeaders, type HttpClient } from '../lib/http-client.ts'
import type { Call, Provider, SignIn } from '../providers/provider.ts'
import { SignInFailed, faultOfFailure } from './fault-of-sending.ts'
import { fault, faultOfStatus } from './fault.ts'
import { addressOf } from './upstream-address.ts'

interface Token {
  readonly token: string
  readonly lifetimeMs: number
}

interface Means {
  readonly client: HttpClient
  readonly provider: Provider
  readonly timeouts: { readonly connectMs: number }
  readonly proxy: string | null
  readonly now: () => number
}

interface Kept {
  readonly answer: Promise<Token>
  /** Milliseconds since the epoch; unknown while it is being fetched. */
  endsAtMs: number
}

/** By credential. As many as there are upstreams that sign in; an exchanged credential's token is let go at its end. */
const tokens = new Map<string, Kept>()
const answerWithinMs = 30_000
const mostBytes = 65_536
/** A token is not used in its last minute, so that it does not end on the way. */
const spareMs = 60_000

/** The token to call with; `null` when the credential needs none. Rejects with what `faultOfSending` reads. */
export async function signIn(call: Call, means: Means): Promise<string | null> {
  const now = means.now()
  const known = tokens.get(call.credential)
  if (known && known.endsAtMs > now) return (await known.answer).token
  const asked = means.provider.signIn?.(call) ?? null
  if (asked === null) return null
  for (const [credential, { endsAtMs }] of tokens) if (endsAtMs <= now) tokens.delete(credential)
  const kept: Kept = { answer: new TokenAnswer(asked, call, means).result, endsAtMs: Infinity }
  tokens.set(call.credential, kept)
  try {
    const { token, lifetimeMs } = await kept.answer
    kept.endsAtMs = now + lifetimeMs - spareMs
    return token
  } catch (error) {
    if (tokens.get(call.credential) === kept) tokens.delete(call.credential)
    throw error
  }
}

/** The provider does not take the token any more: the next call signs in again. */
export function signOut(call: Call): void {
  tokens.delete(call.credential)
}

/** One call for a token. */
class TokenAnswer implements AnswerHandler {
  readonly result: Promise<Token>
  readonly #signIn: SignIn
  readonly #call: Call
  readonly #means: Means
  readonly #resolve: (result: Token) => void
  readonly #reject: (error: SignInFailed) => void
  readonly #timer: NodeJS.Timeout
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #status = 0
  #retryAfter: string | null = null

  constructor(asked: SignIn, call: Call, means: Means) {
    this.#signIn = asked
    this.#call = call
    this.#means = means
    const { promise, resolve, reject } = Promise.withResolvers<Token>()
    this.result = promise
    this.#resolve = resolve
    this.#reject = reject
    const { outgoing } = asked
    const { origin, path } = addressOf(outgoing.url, means.proxy)
    const headers = headerLines(outgoing.headers)
    const connectTimeoutMs = means.timeouts.connectMs
    const { body } = outgoing
    const exchange = means.client.send(
      { origin, method: 'POST', path, headers, body, connectTimeoutMs },
      this,
    )
    this.#timer = setTimeout(() => {
      exchange.destroy()
      reject(new SignInFailed(fault('timeout', 'Signing in at the provider took too long.')))
    }, answerWithinMs)
  }

  onHead(status: number, headers: AnswerHeaders): void {
    this.#status = status
    this.#retryAfter = headers.get('retry-after')
  }

  onData(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= mostBytes) this.#chunks.push(Buffer.from(chunk))
  }

  onEnd(): void {
    clearTimeout(this.#timer)
    const bytes = Buffer.concat(this.#chunks)
    if (this.#status !== 200) {
      const { credential } = this.#call
      const received = { status: this.#status, bytes, retryAfter: this.#retryAfter, errorType: null }
      const found = faultOfStatus(received, { credential, now: this.#means.now() })
      // The caller has no part in this request: what is wrong with it is wrong with the credential.
      const kind = found.kind === 'request' || found.kind === 'missing' ? 'credential' : found.kind
      this.#reject(new SignInFailed({ ...found, kind }))
      return
    }
    try {
      this.#resolve(this.#signIn.tokenOf(JSON.parse(bytes.toString('utf8'))))
    } catch {
      this.#reject(new SignInFailed(fault('garbage', 'The provider signed us in without a token.', 200)))
    }
  }

  onFail(failure: Parameters<typeof faultOfFailure>[0]): void {
    clearTimeout(this.#timer)
    this.#reject(new SignInFailed(faultOfFailure(failure)))
  }
}
