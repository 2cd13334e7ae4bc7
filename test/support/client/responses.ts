/** What stories ask about an answer: its words, its refusal, the record that the relay kept of it. */

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

import type { Account, RequestRecord } from '../server/account.ts'

const patienceMs = 60_000

/** Tries again until there is something; for what no event tells from outside the relay. */
export async function eventually<Found>(
  what: string,
  look: () => Promise<Found | undefined>,
): Promise<Found> {
  for (const start = performance.now(); performance.now() - start < patienceMs; await delay(15)) {
    const found = await look()
    if (found !== undefined) return found
  }
  assert.fail(`not within ${patienceMs} ms: ${what}`)
}

/** The record of the request that was answered so, once it is there. */
export function recordOf(account: Account, reply: Response): Promise<RequestRecord> {
  const id = reply.headers.get('x-request-id') ?? ''
  assert.match(id, /^req_\w+$/)
  return eventually(`the record of ${id}`, async () => (await account.requests({ request_id: id }))[0])
}

/** The account's newest record, once it is there: for callers who left before they were told an id. */
export function newestRecord(account: Account): Promise<RequestRecord> {
  return eventually(`a record of ${account.id}`, async () =>
    (await account.requests()).find((record) => record.outcome !== 'refused'),
  )
}

export interface ErrorBody {
  message: string
  type: string
  param: string | null
  code: string
}

/** A refusal of the format: all four fields, a request id, and nothing else in the body. */
export async function refusalIn(reply: Response): Promise<ErrorBody> {
  assert.match(reply.headers.get('x-request-id') ?? '', /^req_\w+$/)
  assert.equal(reply.headers.get('content-type'), 'application/json')
  const body = (await reply.json()) as { error: ErrorBody }
  assert.deepEqual(Object.keys(body), ['error'])
  assert.deepEqual(Object.keys(body.error).toSorted(), ['code', 'message', 'param', 'type'])
  assert.equal(typeof body.error.message, 'string')
  return body.error
}

interface Chunk {
  choices?: { delta?: { content?: string | null }; finish_reason?: string | null }[]
  usage?: Record<string, unknown> | null
  error?: ErrorBody
}

export function chunksOf(payloads: readonly string[]): Chunk[] {
  return payloads.filter((payload) => payload !== '[DONE]').map((payload) => JSON.parse(payload) as Chunk)
}

/** The text of a streamed answer. */
export function wordsOf(payloads: readonly string[]): string {
  return chunksOf(payloads)
    .map((chunk) => chunk.choices?.[0]?.delta?.content ?? '')
    .join('')
}

/** Every usage that a streamed answer tells. */
export function usagesIn(payloads: readonly string[]): Record<string, unknown>[] {
  return chunksOf(payloads).flatMap(({ usage }) => (usage ? [usage] : []))
}

/** The error event that a broken stream ends with; it has no `[DONE]`. */
export function lastError(payloads: readonly string[]): ErrorBody {
  assert.ok(!payloads.includes('[DONE]'), 'a broken stream must not say that it is done')
  const { error } = chunksOf(payloads).at(-1) ?? {}
  assert.ok(error, 'the last event is no error')
  assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'])
  return error
}

/** Reads events one by one, for callers who watch a stream or leave in its middle. */
export async function* eventsOf(reply: Response): AsyncGenerator<string> {
  assert.ok(reply.body)
  let rest = ''
  for await (const part of reply.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + part).split('\n\n')
    rest = blocks.pop() ?? ''
    yield* blocks
  }
  assert.equal(rest, '', 'the stream ends inside an event')
}
