import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { listAudit } from '../db/audit.ts'
import type { Change } from '../db/change.ts'
import { sql } from '../db/schema/schema.ts'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { ApiError } from '../errors.ts'
import { generateDataKey, createSealer } from '../lib/encryption.ts'
import { loadCatalog, loadCatalogDelta } from './load-catalog.ts'
import { createModel, deleteModel, modelById, updateModel, type ModelInput } from './models.ts'
import { priceHistory } from './prices.ts'
import {
  createUpstream,
  deleteUpstream,
  listUpstreams,
  updateUpstream,
  upstreamById,
  type UpstreamInput,
} from './upstreams.ts'

function isApiError(status: number, param?: string): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && error.status === status && error.detail.param === param
}

const credential = 'sk-canary-credential'

async function setUp(t: TestContext) {
  const db = await openTemporaryDb(t)
  const sealer = createSealer(generateDataKey())
  const context = {
    by: 'admin',
    sealer,
    checkUrl: (url: string) => (url.includes('10.0.0.') ? 'The address is private.' : null),
  }
  const catalog = await loadCatalog(db, sealer)
  const applyChanges = async (changes: readonly Change[]): Promise<void> =>
    catalog.apply(structuredClone(await loadCatalogDelta(db, changes)))
  const upstream = async (name: string, fields: Partial<UpstreamInput> = {}) => {
    const input: UpstreamInput = {
      name,
      provider: 'openai',
      baseUrl: 'https://up.example/v1/',
      credential,
      ...fields,
    }
    const made = await createUpstream(db, input, context)
    await applyChanges(made.changes)
    return made.value
  }
  const model = async (id: string, fields: Partial<ModelInput> = {}) => {
    const made = await createModel(
      db,
      { id, contextTokens: 4096, prices: { input: '0.002', output: '0.004' }, ...fields },
      'admin',
    )
    await applyChanges(made.changes)
    return made.value
  }
  return { db, sealer, context, catalog, applyChanges, upstream, model }
}

describe('upstreams', () => {
  test('a credential – is encrypted at rest and absent from views and the audit log', async (t) => {
    const { db, sealer, context, catalog, upstream } = await setUp(t)
    const { id } = await upstream('one', { proxy: 'http://user:proxy-canary@proxy.example:3128' })
    await updateUpstream(db, id, { credential: `${credential}-2\n` }, context)
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

  test('createUpstream – applies the defaults and converts costs to the platform’s currency', async (t) => {
    const { catalog, upstream } = await setUp(t)
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

  test('the timeouts of a route – are the shorter ones of its upstream and its model', async (t) => {
    const { db, catalog, applyChanges, upstream, model } = await setUp(t)
    await upstream('one', { timeouts: { idleMs: 1000, answerMs: 2000 } })
    const routes = [{ upstream: 'one', model: 'm' }]
    await model('m', { routes, timeouts: { connectMs: 7, idleMs: 1001, answerMs: 1999, firstTokenMs: null } })
    const expected = { connectMs: 7, firstTokenMs: 120_000, idleMs: 1000, answerMs: 1999 }
    assert.deepEqual(catalog.model('m')?.routes[0]?.timeouts, expected)
    const changed = await updateModel(db, 'm', { timeouts: { connectMs: null, answerMs: 3 } }, 'admin')
    assert.deepEqual(changed.value.timeouts, { idleMs: 1001, answerMs: 3 })
    await applyChanges(changed.changes)
    assert.deepEqual(catalog.model('m')?.routes[0]?.timeouts, { ...expected, connectMs: 5000, answerMs: 3 })
    const wrong = updateModel(db, 'm', { timeouts: { answerMs: 0 } }, 'admin')
    await assert.rejects(wrong, isApiError(400, 'timeouts.answer_ms'))
    const [entry] = await listAudit(db, { limit: 1 })
    assert.match(JSON.stringify(entry), /timeouts/)
  })

  test('an invalid upstream field – is rejected with its name', async (t) => {
    const { db, context, upstream } = await setUp(t)
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
      [{ settings: { allowedFields: ['a b'] } }, 'allowed_fields'],
      [{ settings: { allowedFields: Array.from({ length: 51 }, (_, nth) => `f${nth}`) } }, 'allowed_fields'],
      [{ prices: { input: 'x', output: '1' } }, 'prices.input'],
      [{ prices: { input: '1', output: '1', rate: '-1' } }, 'prices.rate'],
      [{ prices: { input: '1', output: '1', currency: 'yuan' } }, 'prices.currency'],
    ]
    for (const [patch, param] of wrong) {
      await assert.rejects(updateUpstream(db, id, patch, context), isApiError(400, param), param)
    }
    await assert.rejects(upstream('one'), isApiError(409, 'name'))
    await assert.rejects(updateUpstream(db, 'ups_none', { weight: 1 }, context), isApiError(404))
  })

  test('timeouts – are patched one by one, and null restores the default', async (t) => {
    const { db, context, upstream } = await setUp(t)
    const { id } = await upstream('one', { timeouts: { idleMs: 1, answerMs: 2 } })
    await updateUpstream(db, id, { timeouts: { idleMs: null, connectMs: 3 } }, context)
    assert.deepEqual((await upstreamById(db, id, context.sealer))?.timeouts, { answerMs: 2, connectMs: 3 })
  })
})

describe('models', () => {
  test('createModel – requires a price, "free" or explicit zeros', async (t) => {
    const { db, model } = await setUp(t)
    await assert.rejects(createModel(db, { id: 'm', contextTokens: 1 }, 'admin'), isApiError(400, 'prices'))
    await model('m', { prices: { free: true } })
    await model('zeros', { prices: { input: '0', output: '0' } })
  })

  test('a model without a price – is neither listed nor served', async (t) => {
    const { db, sealer, catalog, model } = await setUp(t)
    await model('m')
    assert.equal(catalog.model('m')?.price.input, 2_000_000_000n)
    await db.write(sql.deleteFrom('prices'))
    const fresh = await loadCatalog(db, sealer)
    assert.equal(fresh.model('m'), undefined)
    assert.deepEqual(fresh.listed(), [])
  })

  test('a price change – adds a version; an equal price does not', async (t) => {
    const { db, catalog, applyChanges, model } = await setUp(t)
    const first = await model('m')
    await updateModel(db, 'm', { prices: { input: '0.0020', output: '0.004', perRequest: '0' } }, 'admin')
    assert.equal((await priceHistory(db, 'm')).length, 1)
    await applyChanges(
      (await updateModel(db, 'm', { prices: { input: '0.003', output: '0.004' } }, 'admin')).changes,
    )
    const history = await priceHistory(db, 'm')
    assert.deepEqual(
      history.map((version) => version.price.input),
      [3_000_000_000n, 2_000_000_000n],
    )
    assert.equal(history[1]?.version, first.priceVersion)
    assert.equal(catalog.model('m')?.price.version, history[0]?.version)
  })
})

describe('routes', () => {
  test('routes – are ordered by priority, then by weight, and skip disabled upstreams', async (t) => {
    const { db, context, catalog, applyChanges, upstream, model } = await setUp(t)
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
    await applyChanges((await updateUpstream(db, three.id, { enabled: false }, context)).changes)
    await applyChanges((await updateUpstream(db, one.id, { priority: -2 }, context)).changes)
    assert.deepEqual(order(), [
      ['one', 'up-m'],
      ['one', 'up-m-2'],
      ['two', 'up-m'],
    ])
    await assert.rejects(
      model('n', { routes: [{ upstream: 'four', model: 'x' }] }),
      isApiError(400, 'routes[0].upstream'),
    )
    const twice = [
      { upstream: 'one', model: 'x' },
      { upstream: one.id, model: 'x' },
    ]
    await assert.rejects(model('n', { routes: twice }), isApiError(400, 'routes[1]'))
  })
})

describe('upstreams in use', () => {
  test('deleteUpstream – fails while a model has a route to it', async (t) => {
    const { db, catalog, applyChanges, upstream, model } = await setUp(t)
    const one = await upstream('one')
    await model('m', { routes: [{ upstream: 'one', model: 'x' }] })
    await assert.rejects(
      deleteUpstream(db, one.id, 'admin'),
      (error) => isApiError(409)(error) && /: m\./.test(String(error)),
    )
    await applyChanges((await updateModel(db, 'm', { routes: [] }, 'admin')).changes)
    await applyChanges((await deleteUpstream(db, one.id, 'admin')).changes)
    assert.equal(catalog.upstream(one.id), undefined)
    await assert.rejects(deleteUpstream(db, one.id, 'admin'), isApiError(404))
  })
})

describe('model lifecycle', () => {
  test('deleteModel – removes the model; creating it again keeps its price history', async (t) => {
    const { db, catalog, applyChanges, model } = await setUp(t)
    await model('m', { contextTokens: 10, maxOutputTokens: 5, hiddenReasoning: true })
    await assert.rejects(model('m'), isApiError(409, 'id'))
    await applyChanges((await deleteModel(db, 'm', 'admin')).changes)
    assert.deepEqual([catalog.model('m'), await modelById(db, 'm')], [undefined, undefined])
    await assert.rejects(deleteModel(db, 'm', 'admin'), isApiError(404))
    await assert.rejects(updateModel(db, 'm', { listed: false }, 'admin'), isApiError(404))
    const again = await model('m')
    assert.deepEqual([again.contextTokens, again.maxOutputTokens, again.hiddenReasoning], [4096, null, false])
    assert.equal((await priceHistory(db, 'm')).length, 2)
  })

  test('an unlisted model – is served but not listed', async (t) => {
    const { catalog, model } = await setUp(t)
    await model('b')
    await model('a')
    await model('hidden', { listed: false })
    assert.deepEqual(
      catalog.listed().map((listed) => listed.id),
      ['a', 'b'],
    )
    assert.notEqual(catalog.model('hidden'), undefined)
  })

  test('an invalid model field – is rejected with its name', async (t) => {
    const { model } = await setUp(t)
    const wrong: [Partial<ModelInput>, string][] = [
      [{ contextTokens: 0 }, 'context_tokens'],
      [{ maxOutputTokens: 1.5 }, 'max_output_tokens'],
      [{ ownedBy: '' }, 'owned_by'],
      [{ prices: { input: '1', output: '' } }, 'prices.output'],
    ]
    for (const [fields, param] of wrong)
      await assert.rejects(model('m', fields), isApiError(400, param), param)
    for (const id of ['', '-x', 'a b', 'x'.repeat(129)])
      await assert.rejects(model(id), isApiError(400, 'id'), id)
  })
})
