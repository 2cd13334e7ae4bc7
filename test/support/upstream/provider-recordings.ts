/** Scripts that replay the recorded responses of providers in their own framing. */
import assert from 'node:assert/strict'

import {
  encodeAwsFrame,
  recordingsOf,
  readStreamPayloads,
  readResponse,
  responsesOnlyProvider,
} from '../../../src/providers/contract.fixture.ts'
import { findProvider } from '../../../src/providers/registry.ts'
import type { Script } from './exchange.ts'
import { respondWithEvents, respondWithJson } from './scripted-responses.ts'

/** The folder of a provider's recorded responses; `responses`: of OpenAI's Responses API. */
export function recordingsFolder(provider: string): string {
  const found = provider === 'responses' ? responsesOnlyProvider() : findProvider(provider)
  assert.ok(found)
  return recordingsOf(found)
}

/** Replays a provider's recording with the provider's framing, streaming if the path or the body asks for it. */
export function replay(provider: string, name: string): Script {
  const folder = recordingsFolder(provider)
  return async (exchange) => {
    const { path, json: body } = exchange.request
    if (body['stream'] !== true && !/stream/i.test(path))
      return respondWithJson(200, readResponse(folder, name))(exchange)
    const payloads = readStreamPayloads(folder, name)
    if (provider !== 'bedrock') return respondWithEvents(payloads)(exchange)
    exchange.head(200, { 'content-type': 'application/vnd.amazon.eventstream' })
    for (const payload of payloads) {
      for (const [event, value] of Object.entries(JSON.parse(payload) as Record<string, unknown>)) {
        await exchange.write(
          encodeAwsFrame({ ':event-type': event, ':message-type': 'event' }, JSON.stringify(value)),
        )
      }
    }
    return exchange.end()
  }
}
