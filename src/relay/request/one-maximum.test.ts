import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Prng } from '../../../sim/prng.ts'
import { seedRange } from '../../../test/support/runner/seeds.ts'
import { trials } from '../../../test/support/runner/suite.ts'
import { scanJsonObject } from '../../lib/json/json-scanner.ts'
import { createCall } from '../../providers/contract.fixture.ts'
import { providers } from '../../providers/registry.ts'
import { readChatRequest } from './request-body.ts'

const seeds = seedRange(trials({ short: 2000, all: 50_000 }))
const names = ['max_tokens', 'max_completion_tokens'] as const
const openAIProviders = providers.filter(({ translation }) => translation === undefined)

/** A body with none, one or both fields for the maximum, anywhere among others, in any notation. */
function generateBody(prng: Prng): string {
  const space = (): string => prng.pick(['', '', ' ', '\n  ', '\t'])
  const maximums = names.flatMap((name) =>
    prng.bool(0.4) ? [] : [`"${name}"${space()}:${space()}${prng.pick(['null', '7', '50', '5e2', '900.0'])}`],
  )
  const others = ['"messages":[{"role":"user","content":"max_tokens"}]', '"model":"mine"'].concat(
    prng.bool(0.5) ? ['"seed":12345678901234567890'] : [],
    prng.bool(0.5) ? ['"metadata": {"max_tokens": 1, "n_predict": 2}'] : [],
    prng.bool(0.3) ? [`"stream"${space()}:true`] : [],
  )
  const members = [...others, ...maximums]
  for (let at = members.length - 1; at > 0; at--) {
    const other = prng.below(at + 1)
    const swapped = members[at] ?? ''
    members[at] = members[other] ?? ''
    members[other] = swapped
  }
  return `${space()}{${space()}${members.join(`${space()},${space()}`)}${space()}}${space()}`
}

/** The members of a body as they are written, without those that the relay changes. */
function otherMembers(body: Buffer): string[] {
  const scan = scanJsonObject(body)
  assert.equal(scan.kind, 'object', body.toString())
  return (scan.members ?? []).flatMap(({ key, keyStart, end }) =>
    ['model', 'stream_options', ...names].includes(key) ? [] : [body.toString('utf8', keyStart, end)],
  )
}

function maximumsIn(body: Buffer): [string, number][] {
  const fields = JSON.parse(body.toString()) as Record<string, unknown>
  return names.flatMap((name): [string, number][] => {
    const value = fields[name]
    return typeof value === 'number' ? [[name, value]] : []
  })
}

describe('maximum of output tokens', () => {
  test(`${seeds.count} bodies – at most one maximum leaves, and all other bytes unchanged`, () => {
    for (let seed = seeds.from; seed < seeds.from + seeds.count; seed++) {
      const prng = new Prng(seed)
      const text = Buffer.from(generateBody(prng))
      const provider = prng.pick(openAIProviders)
      const held = prng.bool(0.4) ? prng.pick([1, 49, 600]) : null
      const settings = prng.bool(0.2) ? { maximumField: prng.pick(names) } : {}
      const body = readChatRequest(text)
      const call = { ...createCall(provider, {}), body, settings, maximumTokens: held }
      const sent = Buffer.concat([...provider.buildRequest(call).body])
      const named = maximumsIn(text)
      const own = ['openai', 'azure'].includes(provider.name) ? 'max_completion_tokens' : 'max_tokens'
      const chosen = settings.maximumField ?? own
      const least = Math.min(held ?? Infinity, ...named.map(([, value]) => value))
      const field = named.length === 1 ? named[0]?.[0] : chosen
      const about = `seed ${seed}, ${provider.name}: ${text.toString()} → ${sent.toString()}`
      assert.deepEqual(maximumsIn(sent), least === Infinity ? [] : [[field, least]], about)
      assert.deepEqual(otherMembers(sent), otherMembers(text), about)
      if (held === null && named.length === 1 && !body.stream) {
        const unchanged = text.toString().replace('"mine"', JSON.stringify(call.model))
        if (!/: *null|:\s*null/.test(unchanged)) assert.equal(sent.toString(), unchanged, about)
      }
    }
  })
})
