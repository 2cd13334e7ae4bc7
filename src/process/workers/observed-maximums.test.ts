import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { loadCatalog, loadCatalogDelta } from '../../catalog/load-catalog.ts'
import { createModel, modelById } from '../../catalog/models.ts'
import { createUpstream } from '../../catalog/upstreams.ts'
import { maximumOfRoutes } from '../../catalog/catalog.ts'
import { resetRouteMaximum, type MaximumState, type ObservedMaximum } from '../../catalog/route-maximums.ts'
import type { Change } from '../../db/change.ts'
import { sql } from '../../db/schema/schema.ts'
import { openAnyStore } from '../../db/store.fixture.ts'
import { createSealer, generateDataKey } from '../../lib/encryption.ts'
import { ObservedMaximums } from './observed-maximums.ts'

async function setUp(t: TestContext, canNotify = true) {
  const { db } = await openAnyStore(t)
  const sealer = createSealer(generateDataKey())
  const input = { name: 'one', provider: 'openai', baseUrl: 'https://up.example/v1', credential: 'sk-one' }
  const { id } = (await createUpstream(db, input, { by: 'admin', sealer, checkUrl: () => null })).value
  const routes = [{ upstream: 'one', model: 'big' }]
  for (const model of ['a', 'b'])
    await createModel(db, { id: model, contextTokens: 4096, prices: { free: true }, routes }, 'admin')
  const catalog = await loadCatalog(db, sealer)
  const published: string[] = []
  const warnings: string[] = []
  const deps = {
    db,
    catalog,
    log: { warn: (_fields: object, text: string) => void warnings.push(text) },
    publishChanges: async (changes: readonly Change[]) => {
      published.push(...changes.map((change) => change.id).toSorted())
      catalog.apply(await loadCatalogDelta(db, changes))
    },
    canNotify: async () => canNotify,
  }
  const seen = (state: MaximumState, at = 1, field: string | null = null): ObservedMaximum => ({
    upstream_id: id,
    upstream_model: 'big',
    field,
    state,
    at,
  })
  const states = (): unknown[] => ['a', 'b'].map((model) => catalog.model(model)?.maximum)
  const notices = () => db.all(sql.selectFrom('notices').select(['kind', 'params']).orderBy('created_at'))
  return {
    db,
    catalog,
    deps,
    maximums: new ObservedMaximums(deps),
    published,
    warnings,
    seen,
    states,
    notices,
  }
}

describe('ObservedMaximums', () => {
  test('models that share a route – are unseen, obeyed and exceeded together, and stay so', async (t) => {
    const { db, maximums, published, seen, states, notices } = await setUp(t)
    assert.deepEqual(states(), ['unseen', 'unseen'])
    await maximums.observe(seen('obeyed'))
    assert.deepEqual(
      [states(), published],
      [
        ['obeyed', 'obeyed'],
        ['a', 'b'],
      ],
    )
    await maximums.observe(seen('exceeded', 2))
    await maximums.observe(seen('exceeded', 3))
    await maximums.observe(seen('obeyed', 4))
    assert.deepEqual(states(), ['exceeded', 'exceeded'])
    assert.equal((await modelById(db, 'b'))?.routes[0]?.maximum, 'exceeded')
    assert.deepEqual(maximums.exceeded, [{ upstream: 'one', model: 'big' }])
    const params = JSON.stringify({ upstream: 'one', model: 'big' })
    assert.deepEqual(await notices(), [{ kind: 'maximum_exceeded', params }])
  })

  test('several workers at once – store and notify once, and never lose that it was exceeded', async (t) => {
    const { db, deps, maximums, seen, states, notices } = await setUp(t)
    const other = new ObservedMaximums(deps)
    const reports = Array.from({ length: 5 }, () => [
      maximums.observe(seen('exceeded')),
      other.observe(seen('exceeded')),
      maximums.observe(seen('obeyed')),
      other.observe(seen('obeyed')),
    ])
    assert.deepEqual(states(), ['exceeded', 'exceeded'])
    await Promise.all(reports.flat())
    assert.deepEqual(states(), ['exceeded', 'exceeded'])
    assert.equal((await modelById(db, 'a'))?.routes[0]?.maximum, 'exceeded')
    assert.equal(maximums.exceeded.length + other.exceeded.length, 1)
    assert.equal((await notices()).length, 1)
  })

  test('a database that is away – the next hold knows it, and the next response stores it', async (t) => {
    const { db, deps, seen, states, warnings } = await setUp(t)
    let isAway = true
    const failing = { ...db, write: () => Promise.reject(new Error('away')) }
    const maximums = new ObservedMaximums({
      ...deps,
      get db() {
        return isAway ? failing : db
      },
    })
    await maximums.observe(seen('exceeded'))
    assert.deepEqual([states(), warnings], [['exceeded', 'exceeded'], ['maximum not stored']])
    assert.equal((await modelById(db, 'a'))?.routes[0]?.maximum, 'unseen')
    isAway = false
    await maximums.observe(seen('exceeded'))
    assert.equal((await modelById(db, 'a'))?.routes[0]?.maximum, 'exceeded')
  })

  test('A route that is no longer known to obey is unseen, unless it exceeded', async (t) => {
    const { db, maximums, seen, states } = await setUp(t)
    await maximums.observe(seen('obeyed'))
    await maximums.observe(seen('unseen', 2))
    assert.deepEqual(states(), ['unseen', 'unseen'])
    assert.equal((await modelById(db, 'a'))?.routes[0]?.maximum, 'unseen')
    await maximums.observe(seen('exceeded', 3))
    await maximums.observe(seen('unseen', 4))
    assert.deepEqual(states(), ['exceeded', 'exceeded'])
    assert.equal((await modelById(db, 'a'))?.routes[0]?.maximum, 'exceeded')
  })

  test('What is seen belongs to the name under which the maximum was sent', async (t) => {
    const { db, catalog, maximums, seen, notices } = await setUp(t)
    // The upstream's own name.
    const own = 'max_completion_tokens'
    const stateUnder = (field: string): MaximumState => {
      const { routes } = catalog.model('a') ?? assert.fail()
      return maximumOfRoutes(routes, field)
    }
    await maximums.observe(seen('obeyed', 1, 'max_tokens'))
    assert.deepEqual([stateUnder('max_tokens'), stateUnder(own)], ['obeyed', 'unseen'])
    assert.equal((await modelById(db, 'a'))?.routes[0]?.maximum, 'obeyed')
    await maximums.observe(seen('obeyed', 2))
    assert.deepEqual([stateUnder('max_tokens'), stateUnder(own)], ['obeyed', 'obeyed'])
    await maximums.observe(seen('exceeded', 3, 'max_tokens'))
    const isSentOwn = (): boolean | undefined => catalog.model('a')?.routes[0]?.maximum.needsOwnField
    assert.deepEqual([stateUnder('max_tokens'), stateUnder(own), isSentOwn()], ['unseen', 'unseen', true])
    assert.deepEqual(await notices(), [])
    await maximums.observe(seen('obeyed', 4))
    const { upstream_id, upstream_model } = seen('obeyed')
    const { changes } = await resetRouteMaximum(db, { upstream_id, upstream_model }, 'admin')
    catalog.apply(await loadCatalogDelta(db, changes))
    assert.deepEqual([stateUnder(own), isSentOwn()], ['unseen', true])
  })

  test('nodes of an older release – get no notification that they cannot read', async (t) => {
    const { maximums, seen, states, notices } = await setUp(t, false)
    await maximums.observe(seen('exceeded'))
    assert.deepEqual([states(), await notices()], [['exceeded', 'exceeded'], []])
  })
})
