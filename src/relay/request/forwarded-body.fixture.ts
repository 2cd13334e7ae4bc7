/** Compares what the relay bills of a request body with what every reader finds in the body that it forwards. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Prng } from '../../../sim/prng.ts'
import type { SeedRange } from '../../../test/support/runner/seeds.ts'
import { ApiError } from '../../errors.ts'
import { findProvider } from '../../providers/registry.ts'
import { generateBody } from './ambiguous-bodies.fixture.ts'
import type { CallerRequest } from './caller-format.ts'
import { PythonReaders, readAsJavaScript, type Reading } from './json-readers.fixture.ts'
import { readMessagesRequest } from './messages-request.ts'
import { readChatRequest } from './request-body.ts'

const batch = 500
const upstreamModel = 'upstream-model'

type Format = 'chat' | 'messages'

/** What decides the price of a request. */
export interface PricedFields {
  readonly model: unknown
  readonly n: unknown
  /** The smaller one if there are two; null: none. */
  readonly maximum: unknown
  readonly stream: unknown
}

interface ForwardedBody {
  readonly seed: number
  readonly format: Format
  /** What the relay bills and holds money for. */
  readonly billed: PricedFields
  readonly bytes: Buffer
}

/** Anthropic's format has neither `n` nor a second maximum. */
export function pricedFields(fields: Reading['fields'], format: Format): PricedFields {
  const { model, n, max_tokens: old, max_completion_tokens: current, stream } = fields
  if (format === 'messages') return { model, n: 1, maximum: old, stream: stream ?? false }
  const maximums = [old, current].filter((value) => value !== undefined && value !== null)
  const maximum = maximums.length === 2 ? Math.min(Number(old), Number(current)) : (maximums[0] ?? null)
  return { model, n: n ?? 1, maximum, stream: stream ?? false }
}

/**
 * Reads the bodies of these seeds as the relay does, and what it forwards of them as others do. Throws at the first
 * difference; returns how many bodies the relay accepted.
 */
export async function compareReaders(t: TestContext, { from, count }: SeedRange): Promise<number> {
  const python = new PythonReaders(t)
  let accepted = 0
  for (let start = from; start < from + count; start += batch) {
    const seeds = Array.from({ length: Math.min(batch, from + count - start) }, (_, nth) => start + nth)
    const forwarded = seeds.flatMap((seed) => forwardBody(seed) ?? [])
    const readings = await python.read(forwarded.map(({ bytes }) => bytes))
    for (const [nth, { seed, format, billed, bytes }] of forwarded.entries()) {
      for (const { reader, fields } of [readAsJavaScript(bytes), ...(readings[nth] ?? [])]) {
        const found = pricedFields(fields, format)
        assert.deepEqual(found, billed, `seed ${seed}, ${format}: ${reader} reads ${bytes.toString()}`)
      }
    }
    accepted += forwarded.length
  }
  return accepted
}

/** The body for an upstream as the relay would send it; null if it rejects the caller's. */
function forwardBody(seed: number): ForwardedBody | null {
  const body = generateBody(seed)
  const prng = new Prng(-seed)
  const format = prng.bool(0.75) ? 'chat' : 'messages'
  const provider = findProvider(format === 'chat' ? 'openai-compatible' : 'anthropic')
  assert.ok(provider)
  const request = readRequest(body, format)
  if (request === null) return null
  const cap = prng.bool(0.4) ? prng.pick([1, 45, 1000]) : null
  const field = format === 'chat' ? prng.pick(['max_tokens', 'max_completion_tokens']) : 'max_tokens'
  const pieces = request.encodingFor(provider).encode({
    model: upstreamModel,
    withoutFields: new Set(prng.bool(0.3) ? ['stream_options'] : []),
    ...(cap === null ? {} : { maximum: { tokens: cap, field } }),
  })
  const { n, stream, maxOutputTokens } = request
  const maximum = cap === null ? maxOutputTokens : Math.min(cap, maxOutputTokens ?? Infinity)
  const billed = { model: upstreamModel, n, maximum, stream }
  // Translations to other API formats begin with this object.
  assert.equal((request.parsed() as { model?: unknown }).model, request.model, `seed ${seed}`)
  return { seed, format, billed, bytes: Buffer.concat(pieces) }
}

function readRequest(body: Buffer, format: Format): CallerRequest | null {
  try {
    if (format === 'chat') return readChatRequest(body)
    return readMessagesRequest(body, {
      headers: { version: undefined, beta: undefined },
      isTokenCount: false,
    })
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 400, String(error))
    return null
  }
}
