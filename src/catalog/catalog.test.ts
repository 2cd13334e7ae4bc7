import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { listAudit } from '../db/audit.ts'
import type { Change } from '../db/change.ts'
import { sql } from '../db/schema/schema.ts'
import { temporaryDb } from '../db/store.fixture.ts'
import { Refusal } from '../errors.ts'
import { newDataKey, sealerOf } from '../lib/encryption.ts'
import { loadCatalog, loadCatalogDelta } from './catalog.ts'
import { createModel, deleteModel, listModels, modelById, updateModel, type ModelInput } from './models.ts'
import { priceHistory } from './prices.ts'
import { referenceModels } from './reference-models.ts'
import {
  createUpstream,
  deleteUpstream,
  listUpstreams,
  updateUpstream,
  upstreamById,
  type UpstreamInput,
} from './upstreams.ts'

function refusedWith(status: number, param?: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.status === status && error.detail.param === param
}

const credential = 'sk-canary-credential'

async function house(t: TestContext) {
  const db = await temporaryDb(t)
  const sealer = sealerOf(newDataKey())
  const rules = {
    by: 'admin',
    sealer,
    checkUrl: (url: string) => (url.includes('10.0.0.') ? 'The address is private.' : null),
  }
  const catalog = await loadCatalog(db, sealer)
  const take = async (changes: readonly Change[]): Promise<void> =>
    catalog.apply(structuredClone(await loadCatalogDelta(db, changes)))
  const upstream = async (name: string, fields: Partial<UpstreamInput> = {}) => {
    const input: UpstreamInput = {
      name,
      provider: 'openai',
      baseUrl: 'https://up.example/v1/',
      credential,
      ...fields,
    }
    const made = await createUpstream(db, input, rules)
    await take(made.changes)
    return made.value
  }
  const model = async (id: string, fields: Partial<ModelInput> = {}) => {
    const made = await createModel(
      db,
      { id, contextTokens: 4096, prices: { input: '0.002', output: '0.004' }, ...fields },
      'admin',
    )
    await take(made.changes)
    return made.value
  }
  return { db, sealer, rules, catalog, take, upstream, model }
}

test('a credential is sealed in the database, open in the catalogue, and in no view or audit line', async (t) => {
  const { db, sealer, rules, catalog, upstream } = await house(t)
  const { id } = await upstream('one', { proxy: 'http://user:proxy-canary@proxy.example:3128' })
  await updateUpstream(db, id, { credential: `${credential}-2\n` }, rules)
  const shown = await upstreamById(db, 'one', sealer)
  assert.equal(shown?.proxy, 'http://proxy.example:3128/')
  const rows = await db.all(sql.selectFrom('upstreams').selectAll())
  const outside = JSON.stringify([
    shown,
    rows,
    await listAudit(db, { limit: 10 }),
    await listUpstreams(db, sealer),
  ])
  assert.ok(!outside.includes('canary'))
  assert.equal(catalog.upstream(id)?.credential, credential)
  const fresh = await loadCatalog(db, sealer)
  assert.equal(fresh.upstream(id)?.credential, `${credential}-2`)
  assert.equal(fresh.upstream(id)?.proxy, 'http://user:proxy-canary@proxy.example:3128/')
})

test('an upstream starts with the defaults, and what it costs us is in our currency', async (t) => {
  const { catalog, upstream } = await house(t)
  const prices = { input: '0.0025', output: '0.01', cachedInput: '0.00125', currency: 'USD', rate: '7.1' }
  const { id } = await upstream('one', { prices, timeouts: { idleMs: 1000, answerMs: null } })
  const live = catalog.upstream(id)
  assert.deepEqual(live?.timeouts, {
    connectMs: 5000,
    firstTokenMs: 120_000,
    idleMs: 1000,
    answerMs: 600_000,
  })
  assert.deepEqual(
    [live.baseUrl, live.priority, live.weight, live.onAbort, live.enabled],
    ['https://up.example/v1', 0, 1, 'cancel', true],
  )
  assert.deepEqual(live.price, {
    free: false,
    input: 17_750_000_000n,
    output: 71_000_000_000n,
    cachedInput: 8_875_000_000n,
    cacheWrite: null,
    cacheWrite1h: null,
    reasoning: null,
    perRequest: 0n,
    perSearch: null,
    version: 0,
  })
})

test('an upstream field that is not allowed is refused by its name', async (t) => {
  const { db, rules, upstream } = await house(t)
  const { id } = await upstream('one')
  const wrong: [object, string][] = [
    [{ name: 'a b' }, 'name'],
    [{ provider: 'skynet' }, 'provider'],
    [{ baseUrl: 'ftp://up.example' }, 'base_url'],
    [{ baseUrl: 'http://10.0.0.1/v1' }, 'base_url'],
    [{ baseUrl: 'https://user:pass@up.example/v1' }, 'base_url'],
    [{ proxy: 'http://10.0.0.2:3128' }, 'proxy'],
    [{ priority: 0.5 }, 'priority'],
    [{ weight: -1 }, 'weight'],
    [{ timeouts: { idleMs: 0 } }, 'timeouts.idle_ms'],
    [{ prices: { input: 'x', output: '1' } }, 'prices.input'],
    [{ prices: { input: '1', output: '1', rate: '-1' } }, 'prices.rate'],
    [{ prices: { input: '1', output: '1', currency: 'yuan' } }, 'prices.currency'],
  ]
  for (const [patch, param] of wrong) {
    await assert.rejects(updateUpstream(db, id, patch, rules), refusedWith(400, param), param)
  }
  await assert.rejects(upstream('one'), refusedWith(409, 'name'))
  await assert.rejects(updateUpstream(db, 'ups_none', { weight: 1 }, rules), refusedWith(404))
})

test('time-outs are patched one by one, null going back to the default', async (t) => {
  const { db, rules, upstream } = await house(t)
  const { id } = await upstream('one', { timeouts: { idleMs: 1, answerMs: 2 } })
  await updateUpstream(db, id, { timeouts: { idleMs: null, connectMs: 3 } }, rules)
  assert.deepEqual((await upstreamById(db, id, rules.sealer))?.timeouts, { answerMs: 2, connectMs: 3 })
})

test('a model without a price is not made; free has to be said, in a word or as zeros', async (t) => {
  const { db, model } = await house(t)
  await assert.rejects(createModel(db, { id: 'm', contextTokens: 1 }, 'admin'), refusedWith(400, 'prices'))
  await model('m', { prices: { free: true } })
  await model('zeros', { prices: { input: '0', output: '0' } })
})

test('a model without a price is neither listed nor served, whoever took it away', async (t) => {
  const { db, sealer, catalog, model } = await house(t)
  await model('m')
  assert.equal(catalog.model('m')?.price.input, 2_000_000_000n)
  await db.write(sql.deleteFrom('prices'))
  const fresh = await loadCatalog(db, sealer)
  assert.equal(fresh.model('m'), undefined)
  assert.deepEqual(fresh.listed(), [])
})

test('a price change makes a new version and keeps the old; the same price makes none', async (t) => {
  const { db, catalog, take, model } = await house(t)
  const first = await model('m')
  await updateModel(db, 'm', { prices: { input: '0.0020', output: '0.004', perRequest: '0' } }, 'admin')
  assert.equal((await priceHistory(db, 'm')).length, 1)
  await take((await updateModel(db, 'm', { prices: { input: '0.003', output: '0.004' } }, 'admin')).changes)
  const history = await priceHistory(db, 'm')
  assert.deepEqual(
    history.map((version) => version.price.input),
    [3_000_000_000n, 2_000_000_000n],
  )
  assert.equal(history[1]?.version, first.priceVersion)
  assert.equal(catalog.model('m')?.price.version, history[0]?.version)
})

test('routes are tried by priority, lower first, then by weight, and only to enabled upstreams', async (t) => {
  const { db, rules, catalog, take, upstream, model } = await house(t)
  const one = await upstream('one', { priority: 5 })
  const two = await upstream('two', { weight: 1 })
  const three = await upstream('three', { weight: 9 })
  await model('m', {
    routes: [
      { upstream: 'one', model: 'up-m' },
      { upstream: two.id, model: 'up-m' },
      { upstream: 'three', model: 'up-m' },
      { upstream: 'one', model: 'up-m-2', priority: -1 },
    ],
  })
  const order = () => catalog.model('m')?.routes.map((route) => [route.upstream.name, route.upstreamModel])
  assert.deepEqual(order(), [
    ['one', 'up-m-2'],
    ['three', 'up-m'],
    ['two', 'up-m'],
    ['one', 'up-m'],
  ])
  await take((await updateUpstream(db, three.id, { enabled: false }, rules)).changes)
  await take((await updateUpstream(db, one.id, { priority: -2 }, rules)).changes)
  assert.deepEqual(order(), [
    ['one', 'up-m'],
    ['one', 'up-m-2'],
    ['two', 'up-m'],
  ])
  await assert.rejects(
    model('n', { routes: [{ upstream: 'four', model: 'x' }] }),
    refusedWith(400, 'routes[0].upstream'),
  )
  const twice = [
    { upstream: 'one', model: 'x' },
    { upstream: one.id, model: 'x' },
  ]
  await assert.rejects(model('n', { routes: twice }), refusedWith(400, 'routes[1]'))
})

test('an upstream is deleted only when no model is routed to it, and is gone from the catalogue', async (t) => {
  const { db, catalog, take, upstream, model } = await house(t)
  const one = await upstream('one')
  await model('m', { routes: [{ upstream: 'one', model: 'x' }] })
  await assert.rejects(
    deleteUpstream(db, one.id, 'admin'),
    (error) => refusedWith(409)(error) && /: m\./.test(String(error)),
  )
  await take((await updateModel(db, 'm', { routes: [] }, 'admin')).changes)
  await take((await deleteUpstream(db, one.id, 'admin')).changes)
  assert.equal(catalog.upstream(one.id), undefined)
  await assert.rejects(deleteUpstream(db, one.id, 'admin'), refusedWith(404))
})

test('a deleted model is gone, and can be made again with its price history', async (t) => {
  const { db, catalog, take, model } = await house(t)
  await model('m', { contextTokens: 10, maxOutputTokens: 5, hiddenReasoning: true })
  await assert.rejects(model('m'), refusedWith(409, 'id'))
  await take((await deleteModel(db, 'm', 'admin')).changes)
  assert.deepEqual([catalog.model('m'), await modelById(db, 'm')], [undefined, undefined])
  await assert.rejects(deleteModel(db, 'm', 'admin'), refusedWith(404))
  await assert.rejects(updateModel(db, 'm', { listed: false }, 'admin'), refusedWith(404))
  const again = await model('m')
  assert.deepEqual([again.contextTokens, again.maxOutputTokens, again.hiddenReasoning], [4096, null, false])
  assert.equal((await priceHistory(db, 'm')).length, 2)
})

test('an unlisted model is served and not listed', async (t) => {
  const { catalog, model } = await house(t)
  await model('b')
  await model('a')
  await model('hidden', { listed: false })
  assert.deepEqual(
    catalog.listed().map((listed) => listed.id),
    ['a', 'b'],
  )
  assert.notEqual(catalog.model('hidden'), undefined)
})

test('a model field that is not allowed is refused by its name', async (t) => {
  const { model } = await house(t)
  const wrong: [Partial<ModelInput>, string][] = [
    [{ contextTokens: 0 }, 'context_tokens'],
    [{ maxOutputTokens: 1.5 }, 'max_output_tokens'],
    [{ ownedBy: '' }, 'owned_by'],
    [{ prices: { input: '1', output: '' } }, 'prices.output'],
  ]
  for (const [fields, param] of wrong)
    await assert.rejects(model('m', fields), refusedWith(400, param), param)
  for (const id of ['', '-x', 'a b', 'x'.repeat(129)])
    await assert.rejects(model(id), refusedWith(400, 'id'), id)
})

test('the reference models are ten, all priced, with the prices of the specification', async (t) => {
  const { db } = await house(t)
  for (const { priceSource: _source, ...input } of referenceModels) await createModel(db, input, 'seed')
  const models = await listModels(db)
  assert.equal(models.length, 10)
  const price = (id: string) => models.find((model) => model.id === id)?.price
  assert.deepEqual(
    [price('family-a-small')?.input, price('family-a-small-16k')?.output],
    [2_000_000_000n, 2_000_000_000n],
  )
  assert.deepEqual(
    [price('family-a-large')?.input, price('family-a-large-32k')?.output],
    [30_000_000_000n, 60_000_000_000n],
  )
  assert.deepEqual(
    [price('family-b-mid')?.input, price('family-b-mid')?.output],
    [15_000_000_000n, 75_000_000_000n],
  )
})
