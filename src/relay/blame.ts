/**
 * What a fault says about the upstream: against which circuit it speaks. What a caller can bring about
 * (a wrong request, a model's name, a text) speaks against nobody, whatever words the upstream finds for it.
 */
import type { Blame } from '../health/observation.ts'
import { briefOf, type Fault } from './routing/upstream-error.ts'

export interface Verdict {
  /** `null`: against nobody. */
  readonly blame: Blame | null
  readonly restMs: number | null
  readonly why: string
}

/** Codes under 429 that no waiting helps: the credential has nothing left to spend. */
const outOfCredit = new Set(['insufficient_quota', 'billing_hard_limit_reached', 'insufficient_balance'])

/** Of the statuses that are nobody's in particular, those that are the upstream's own. */
function isUpstreams(status: number | null): boolean {
  return status === null || status < 400 || status >= 500 || status === 408
}

function blameOf({ kind, status, code }: Fault): Blame | null {
  switch (kind) {
    case 'request':
    case 'missing':
    case 'unsupported':
    case 'forbidden':
      return null
    case 'rate':
      return outOfCredit.has(code ?? '') ? 'credential' : 'credentialForModel'
    case 'credential':
      // Many providers say 403 where a credential may use some of their models and not this one.
      return status === 403 ? 'credentialForModel' : 'credential'
    case 'unavailable':
      return isUpstreams(status) ? 'place' : null
    case 'timeout':
    case 'connection':
    case 'garbage':
      return 'place'
  }
}

function wordsOf(found: Fault): string {
  if (found.kind === 'rate')
    return outOfCredit.has(found.code ?? '') ? 'It is out of credit.' : 'It is asked too often.'
  if (found.kind !== 'credential')
    return found.status === null ? found.message : `It answered ${briefOf(found)}.`
  if (found.status === 402) return 'It is out of credit.'
  return found.status === 403
    ? 'The upstream does not let it use this model (403).'
    : 'The upstream does not accept it.'
}

export function verdictOn(found: Fault): Verdict {
  return { blame: blameOf(found), restMs: found.retryAfterMs, why: wordsOf(found) }
}
