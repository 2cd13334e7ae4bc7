/**
 * An upstream's no to us, and what it becomes for the caller when no other upstream helps (design: "Upstream
 * errors"): the caller's own mistakes keep their status, a rate keeps 429, everything else is 503. An upstream's 401
 * is ours to mend, never the caller's.
 */
import { refuse, type Refusal } from '../../errors.ts'
import type { Call, Failure } from '../../providers/provider.ts'
import { isObject } from '../../providers/usage.ts'

export type FaultKind =
  /** The request itself is wrong: no other upstream would take it. */
  | 'request'
  /** This upstream does not have what was asked for; another may. */
  | 'missing'
  /** What was asked cannot be said in this upstream's dialect, so it was not asked; another may take it. */
  | 'unsupported'
  | 'rate'
  | 'credential'
  | 'unavailable'
  | 'timeout'
  | 'connection'
  | 'garbage'
  /** Our side forbids the address. */
  | 'forbidden'

export interface Fault {
  readonly kind: FaultKind
  /** The upstream's status; `null` when none came. */
  readonly status: number | null
  /** The upstream's words, without secrets, for the caller where the request is at fault; ours where no status came. */
  readonly message: string
  readonly param: string | null
  readonly code: string | null
  readonly retryAfterMs: number | null
}

export function fault(kind: FaultKind, message: string, status: number | null = null): Fault {
  return { kind, status, message, param: null, code: null, retryAfterMs: null }
}

/** May the next upstream be asked? */
export function mayHelpElsewhere(kind: FaultKind): boolean {
  return kind !== 'request'
}

function kindOfStatus(status: number): FaultKind {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return 'request'
    case 404:
      return 'missing'
    case 429:
      return 'rate'
    case 401:
    case 402:
    case 403:
      return 'credential'
    default:
      return 'unavailable'
  }
}

const longestMessage = 2000
const secretShapes = /\b(?:sk|rk|pk|gsk|xai|AIza|key|Bearer)[-_ ][A-Za-z0-9_\-.*]{8,}/g

/** The parts of a credential that are secrets by themselves: of a pair of keys, of a key file. */
function partsOf(credential: string): string[] {
  const parts = credential.replaceAll('\\n', '\n').split(/[\s":,{}]+/)
  return [credential, ...parts.filter((part) => part.length >= 16)]
}

/** What must not be told of a call: its credential, and the token that it was exchanged for. */
export function secretsOf({ credential, token }: Pick<Call, 'credential' | 'token'>): string {
  return token === undefined ? credential : `${credential}\n${token}`
}

/** An upstream's words without our credential, or anything that looks like one. */
export function withoutSecrets(message: string, credential: string): string {
  let plain = message
  if (credential !== '') for (const part of partsOf(credential)) plain = plain.replaceAll(part, '[removed]')
  return plain.replaceAll(secretShapes, '[removed]').slice(0, longestMessage)
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** The error in a body of any of the shapes that providers use, or `null`. */
export function errorIn(body: unknown): Words | null {
  if (!isObject(body)) return null
  const { error } = body
  if (typeof error === 'string' && error !== '') return { message: error, param: null, code: null }
  if (isObject(error)) {
    const message = textOf(error['message']) ?? textOf(error['type']) ?? textOf(error['code']) ?? 'error'
    return { message, param: textOf(error['param']), code: textOf(error['code']) ?? textOf(error['status']) }
  }
  return null
}

/** The status that an error inside a 200 names, if it names one. */
export function statusInError(body: unknown): number | null {
  if (!isObject(body) || !isObject(body['error'])) return null
  for (const value of [body['error']['status'], body['error']['code'], body['error']['status_code']]) {
    const status = Number(value)
    if (Number.isInteger(status) && status >= 400 && status <= 599) return status
  }
  return null
}

/** A failure's body; `null` for what is not JSON: a page of a proxy, perhaps. */
function bodyOf(bytes: Buffer): unknown {
  try {
    const body: unknown = JSON.parse(bytes.toString('utf8'))
    // Where a stream was asked for, Google puts its error into a list.
    return Array.isArray(body) && body.length === 1 ? body[0] : body
  } catch {
    return null
  }
}

/** Words, or what some validators say in their place: which fields are wrong, as a list or an object. */
function wordsOf(value: unknown): string | null {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : textOf(value)
}

/** What is no JSON may hold anything, so only the status is told of it. */
function messageIn(body: unknown): Words {
  const found = errorIn(body)
  if (found) return found
  if (isObject(body)) {
    const message = wordsOf(body['message']) ?? wordsOf(body['detail'])
    if (message) return { message, param: null, code: textOf(body['code']) }
  }
  return { message: 'The provider refused the request.', param: null, code: null }
}

/** Google's way to say it (google.rpc.RetryInfo): `{"retryDelay": "34.4s"}` among the details. */
function retryDelayIn(body: unknown): string | null {
  const error = isObject(body) ? body['error'] : undefined
  const details = isObject(error) ? error['details'] : undefined
  if (!Array.isArray(details)) return null
  for (const detail of details) {
    const delay: unknown = isObject(detail) ? detail['retryDelay'] : undefined
    if (typeof delay === 'string' && delay.endsWith('s')) return delay.slice(0, -1)
  }
  return null
}

/** Nobody is told to come back later than tomorrow, whatever a provider's clock says. */
const longestRetryMs = 86_400_000

/** Seconds or a date, as `Retry-After` has them (RFC 9110, 10.2.3), in milliseconds. */
export function retryAfterOf(header: string | null, now: number): number | null {
  if (header === null) return null
  if (/^\d+(\.\d+)?$/.test(header)) return Math.min(Number(header) * 1000, longestRetryMs)
  const date = Date.parse(header)
  return Number.isNaN(date) ? null : Math.min(Math.max(0, date - now), longestRetryMs)
}

interface Words {
  readonly message: string
  readonly param: string | null
  readonly code: string | null
}

function cleaned({ message, param, code }: Words, credential: string): Words {
  const clean = (text: string | null): string | null => text && withoutSecrets(text, credential)
  return { message: withoutSecrets(message, credential), param: clean(param), code: clean(code) }
}

/** The headers that tell more of a failure. */
export interface AboutFailure {
  readonly retryAfter: string | null
  /** Amazon's word for it. */
  readonly errorType: string | null
}

/** The fault in an answer that is not 200. */
export function faultOfStatus(
  failure: AboutFailure & { readonly status: number; readonly bytes: Buffer },
  about: {
    readonly credential: string
    readonly now: number
    readonly provider?: { statusOf?(failure: Failure): number }
  },
): Fault {
  const { errorType, retryAfter } = failure
  const body = bodyOf(failure.bytes)
  const status = about.provider?.statusOf?.({ status: failure.status, body, errorType }) ?? failure.status
  return {
    kind: kindOfStatus(status),
    status,
    ...cleaned(messageIn(body), about.credential),
    retryAfterMs: retryAfterOf(retryAfter ?? retryDelayIn(body), about.now),
  }
}

/** The fault in a 200 whose body, or first event, is an error. */
export function faultOfError(body: unknown, credential: string): Fault {
  const found = errorIn(body) ?? { message: 'error', param: null, code: null }
  const status = statusInError(body)
  return {
    kind: status === null ? 'unavailable' : kindOfStatus(status),
    status: status ?? 200,
    ...cleaned(found, credential),
    retryAfterMs: null,
  }
}

const strength: Record<FaultKind, number> = {
  request: 4,
  missing: 3,
  unavailable: 2,
  credential: 2,
  timeout: 2,
  connection: 2,
  garbage: 2,
  forbidden: 2,
  rate: 1,
  unsupported: 0,
}

/** Of several faults, the one whose refusal helps the caller most. */
export function tellingFault(faults: readonly Fault[]): Fault {
  const [first = fault('unavailable', 'No upstream was asked.'), ...rest] = faults
  return rest.reduce((best, each) => (strength[each.kind] > strength[best.kind] ? each : best), first)
}

/** What the log is told: no words of an upstream, for they may repeat the caller's. */
export function briefOf(found: Fault): string {
  return found.status === null ? found.message : `${found.kind}, status ${found.status}`
}

/** What the caller is told. */
export function refusalOfFault(found: Fault): Refusal {
  switch (found.kind) {
    case 'request':
    case 'missing':
    case 'unsupported':
      return refuse('invalid_request', {
        status: found.status ?? 400,
        message: found.message,
        ...(found.param === null ? {} : { param: found.param }),
        ...(found.code === null ? {} : { code: found.code }),
      })
    case 'rate':
      return refuse('rate_limit_exceeded', {
        message: 'The provider of this model is asked too often at the moment. Try again shortly.',
        retryAfterMs: found.retryAfterMs ?? 1000,
      })
    default:
      return refuse('upstream_unavailable', { retryAfterMs: found.retryAfterMs ?? 1000 })
  }
}
