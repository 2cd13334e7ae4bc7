/**
 * `Idempotency-Key`: the same key and body within 24 hours answer what the first request came to, and cost nothing more.
 * The key is claimed in the same step as the hold; what the request came to is kept with its settlement.
 */
import { createHash } from 'node:crypto'
import { refuse } from '../errors.ts'
import type { Claim } from '../ledger/events.ts'
import type { Kept, KeptAnswers } from '../usage/stored-responses.ts'
import type { Bookkeeper, HoldAnswer, HoldAsk } from './ledger-client.ts'
import type { DrainBounds } from './delivery.ts'

export const headerName = 'Idempotency-Key'
/** 1 to 255 visible characters. */
const regular = /^[\x21-\x7e]{1,255}$/

/** For a caller who may come back for it, an answer is read to its end, however many tokens it has. */
export const keptDrain: DrainBounds = { tokens: Infinity, ms: 600_000 }

const digest = (...bytes: (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const piece of bytes) hash.update(piece)
  return hash.digest('base64url')
}

/** What a request claims. `path` and `body`: as they came, `/v1` or not. Throws 400 naming the header. */
export function claimOf(key: string, path: string, body: Buffer): Claim {
  if (!regular.test(key)) {
    const message = `${headerName} must be 1 to 255 visible ASCII characters.`
    throw refuse('invalid_request', { param: headerName, message })
  }
  return { key: digest(key), body: digest(path.replace(/^\/v1/, ''), body) }
}

export interface ClaimMeans {
  readonly bookkeeper: Bookkeeper
  readonly keptAnswers: KeptAnswers
}

/** Claims the key together with a hold, or finds what its first request came to. */
export async function holdOnce(
  { bookkeeper, keptAnswers }: ClaimMeans,
  account: string,
  ask: HoldAsk,
  claim: Claim,
): Promise<HoldAnswer | Kept> {
  let seen = bookkeeper.newestDurable
  for (;;) {
    const kept = await keptAnswers.find(account, claim.key)
    if (kept) return kept
    const answer = await bookkeeper.hold({ ...ask, claim: { ...claim, seen } })
    if (answer.granted || answer.lookAgain === undefined) return answer
    seen = answer.lookAgain
  }
}

/** The answer to give once more. Throws 422 for another body, 409 where the answer is not there. */
export function answerIn({ requestId, body, answer }: Kept, claim: Claim): Buffer {
  if (body !== claim.body) {
    const message = `This ${headerName} is that of request ${requestId}, which had another body.`
    throw refuse('idempotency_key_reused', { message })
  }
  if (answer) return answer
  const message = `Request ${requestId} with this ${headerName} was charged; its answer was cut off, or is larger than 1 MiB, and is not kept.`
  throw refuse('idempotency_conflict', { message, final: true })
}
