/** An answer that came in one piece: read, translated where it is of another dialect, or a fault. */
import type { Call, Chunk, Provider } from '../providers/provider.ts'
import { isObject } from '../providers/usage.ts'
import type { Wording } from './caller-format.ts'
import {
  errorIn,
  fault,
  faultOfError,
  faultOfStatus,
  secretsOf,
  type AboutFailure,
  type Fault,
} from './routing/upstream-error.ts'

export interface WholeAnswer {
  readonly kind: 'whole'
  /** As it goes to the caller: the upstream's own bytes, or the translation's. */
  readonly bytes: Buffer
  /** In the common format, for the meter. */
  readonly json: unknown
}

/** What came: the status, the body, and the headers that tell of a failure. */
export interface Received extends AboutFailure {
  readonly status: number
  readonly bytes: Buffer
}

/** Reads what came as the answer to a call. */
export function readWhole(
  received: Received,
  about: {
    readonly call: Call
    readonly provider: Provider
    readonly wording: Wording
    readonly now: number
  },
): WholeAnswer | { readonly kind: 'fault'; readonly fault: Fault } {
  const { status, bytes } = received
  const { call, provider, wording } = about
  const credential = secretsOf(call)
  if (status !== 200) {
    const found = faultOfStatus(received, { credential, now: about.now, provider })
    return { kind: 'fault', fault: found }
  }
  try {
    const json: unknown = JSON.parse(bytes.toString('utf8'))
    const { translation } = provider
    const isOfFormat = translation ? isObject(json) : hasChoices(json)
    if (call.body.stream || isError(json) || !isOfFormat) {
      return { kind: 'fault', fault: faultOfWhole(json, credential) }
    }
    if (!translation && !wording.whole) return { kind: 'whole', bytes, json }
    const answer = translation?.whole(json, call) ?? (json as Chunk)
    if (wording.isOwn) return { kind: 'whole', bytes, json: answer }
    const said = wording.whole?.(answer) ?? answer
    return { kind: 'whole', bytes: Buffer.from(JSON.stringify(said)), json: answer }
  } catch {
    return { kind: 'fault', fault: fault('garbage', 'The answer of the provider could not be read.', status) }
  }
}

function hasChoices(json: unknown): boolean {
  return isObject(json) && Array.isArray(json['choices'])
}

function isError(json: unknown): boolean {
  return errorIn(json) !== null && !hasChoices(json)
}

/** A body that is no answer: an error under 200, or JSON that is not what was asked for. */
function faultOfWhole(json: unknown, credential: string): Fault {
  return errorIn(json) === null
    ? fault('garbage', 'The answer of the provider is not of the format.', 200)
    : faultOfError(json, credential)
}
