/**
 * Tokens for providers that want one got by signing in. One is fetched per credential, by whoever needs it first, and
 * kept until shortly before it ends or until the provider no longer takes it.
 */
import type { Call, Provider, SignIn } from '../providers/provider.ts'
import { askOnce, type CallMeans } from './ask-once.ts'
import { CallFailed } from './fault-of-sending.ts'
import { fault, faultOfStatus } from './routing/upstream-error.ts'

interface Token {
  readonly token: string
  readonly lifetimeMs: number
}

interface Means extends CallMeans {
  readonly provider: Provider
  readonly now: () => number
}

interface Kept {
  readonly answer: Promise<Token>
  /** Milliseconds since the epoch; unknown while it is being fetched. */
  endsAtMs: number
}

/** By credential. As many as there are upstreams that sign in; an exchanged credential's token is let go at its end. */
const tokens = new Map<string, Kept>()
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
  const kept: Kept = { answer: tokenFor(asked, call, means), endsAtMs: Infinity }
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

async function tokenFor(asked: SignIn, { credential }: Call, means: Means): Promise<Token> {
  const answer = await askOnce({ ...asked.outgoing, method: 'POST', mostBytes }, means)
  if (answer.status !== 200) {
    const found = faultOfStatus({ ...answer, errorType: null }, { credential, now: means.now() })
    // The caller has no part in this request: what is wrong with it is wrong with the credential.
    const kind = found.kind === 'request' || found.kind === 'missing' ? 'credential' : found.kind
    throw new CallFailed({ ...found, kind })
  }
  try {
    return asked.tokenOf(JSON.parse(answer.bytes.toString('utf8')))
  } catch {
    throw new CallFailed(fault('garbage', 'The provider signed us in without a token.', 200))
  }
}
