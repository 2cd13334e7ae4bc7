/**
 * What every real client meets in its stories: one relay with scripted upstreams behind it, one model per thing that
 * can happen, and three people: one who can pay, one who cannot, one whose key may use ten tokens a minute.
 */
import type { TestContext } from 'node:test'

import type { Account } from '../test/support/server/account.ts'
import { openHouse } from '../test/support/server/test-server.ts'
import type { House, KnownUpstream } from '../test/support/server/test-server.ts'
import { failingAfter, mute, truncating } from '../test/support/upstream/fault-injection.ts'
import { endless, failing, saying, sayingMany } from '../test/support/upstream/scripted-responses.ts'

export const usage = { input: 1000, output: 100 }

export const toolCalls = [
  { id: 'call_paris', name: 'weather', arguments: '{"city":"Paris","days":3}' },
  { id: 'call_oslo', name: 'weather', arguments: '{"city":"Oslo","days":5}' },
]

export const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
  additionalProperties: false,
}

/** One red pixel. */
export const image =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

export interface Stage {
  readonly house: House
  /** Serves the models that answer well, each under its name: `plain`, `tools`, `schema`. */
  readonly upstream: KnownUpstream
  /** Serves `endless` and `mute`, for callers who leave. */
  readonly patient: KnownUpstream
  /** Serves `busy`: too busy once, then well. */
  readonly busy: KnownUpstream
  readonly rich: Account
  readonly poor: Account
  readonly limited: Account
}

export async function openStage(t: TestContext): Promise<Stage> {
  const house = await openHouse(t)
  const upstream = await house.upstream(saying('Hello, world!', usage))
  upstream.forModel('tools', saying('', usage, { toolCalls }))
  upstream.forModel('schema', saying('{"city":"Paris","people":2100000}', usage))
  const patient = await house.upstream(endless())
  patient.forModel('mute', mute)
  const busy = await house.upstream(saying('Hello again!', usage))
  const broken = await house.upstream(
    failingAfter(4, { message: 'The model broke.', code: 'broken' }, sayingMany(9)),
  )
  const cut = await house.upstream(truncating(4, 'end', sayingMany(9)))

  for (const id of ['plain', 'tools', 'schema']) await house.model(id, { upstreams: [upstream] })
  for (const id of ['endless', 'mute']) await house.model(id, { upstreams: [patient] })
  await house.model('busy', { upstreams: [busy] })
  await house.model('broken', { upstreams: [broken] })
  await house.model('cut', { upstreams: [cut] })
  return {
    house,
    upstream,
    patient,
    busy,
    rich: await house.account({ balance: '¥10' }),
    poor: await house.account(),
    limited: await house.account({ balance: '¥1', key: { limits: { tpm: 10 } } }),
  }
}

/** Makes the upstream of `busy` refuse its next request. */
export function makeBusyOnce(stage: Stage): void {
  stage.busy.next(failing(429, undefined, { 'retry-after': '1' }))
}
