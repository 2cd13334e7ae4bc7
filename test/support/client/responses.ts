/** Reads responses: text, errors, events, and the relay's record of the request. */

import assert from 'node:assert/strict'

import type { Account, RequestRecord } from '../server/account.ts'
import { waitUntil } from '../wait.ts'

/** Waits for the record of the request with this response. */
export function waitForRecord(account: Account, response: Response): Promise<RequestRecord> {
  const id = response.headers.get('x-request-id') ?? ''
  assert.match(id, /^req_\w+$/)
  return waitUntil(async () => (await account.requests({ request_id: id }))[0], `the record of ${id}`)
}

/** Waits for the account's newest record; for callers that disconnected before they received a request id. */
export function waitForNewestRecord(account: Account): Promise<RequestRecord> {
  return waitUntil(
    async () => (await account.requests()).find((record) => record.outcome !== 'refused'),
    `a record of ${account.id}`,
  )
}

export interface ErrorBody {
  message: string
  type: string
  param: string | null
  code: string
}

/** An OpenAI-format error: all four fields, a request id, and nothing else in the body. */
export async function readError(response: Response): Promise<ErrorBody> {
  assert.match(response.headers.get('x-request-id') ?? '', /^req_\w+$/)
  assert.equal(response.headers.get('content-type'), 'application/json')
  const body = (await response.json()) as { error: ErrorBody }
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

export function parseChunks(payloads: readonly string[]): Chunk[] {
  return payloads.filter((payload) => payload !== '[DONE]').map((payload) => JSON.parse(payload) as Chunk)
}

/** The text of a streamed response. */
export function streamedText(payloads: readonly string[]): string {
  return parseChunks(payloads)
    .map((chunk) => chunk.choices?.[0]?.delta?.content ?? '')
    .join('')
}

/** Every usage object in a stream. */
export function reportedUsage(payloads: readonly string[]): Record<string, unknown>[] {
  return parseChunks(payloads).flatMap(({ usage }) => (usage ? [usage] : []))
}

/** The error event at the end of a failed stream, which has no `[DONE]`. */
export function finalError(payloads: readonly string[]): ErrorBody {
  assert.ok(!payloads.includes('[DONE]'), 'a failed stream must not end with [DONE]')
  const { error } = parseChunks(payloads).at(-1) ?? {}
  assert.ok(error, 'the last event is not an error')
  assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'])
  return error
}
