/**
 * The demonstration: on an empty data directory outside production, the reference models over an upstream of ours,
 * and an account with a key and credit, so that the first request is one paste away.
 */
import { accountByEmail, createAccount } from '../../accounts/accounts.ts'
import { createKey, deleteKey, listKeys } from '../../accounts/keys.ts'
import { createModel, modelById } from '../../catalog/models.ts'
import { referenceModels } from '../../catalog/reference-models.ts'
import { createUpstream, updateUpstream, upstreamById } from '../../catalog/upstreams.ts'
import type { UpstreamRules } from '../../catalog/upstream-fields.ts'
import type { Config } from '../../config.ts'
import type { Change, Changed } from '../../db/change.ts'
import type { Db } from '../../db/db.ts'
import { sql } from '../../db/schema/schema.ts'
import { putSetting, setting } from '../../db/settings.ts'
import { nanosOf } from '../../lib/money.ts'
import type { Core } from '../core.ts'
import { demoAddress, openDemoUpstream } from './demo-upstream.ts'
import type { Orders } from '../orders.ts'

const upstreamName = 'demonstration'
const keySetting = 'demo_key'
/** There from before the first row of it, so that a start that was cut short is gone on with by the next. */
const begunSetting = 'demo_begun'
const email = 'demo@sluice.example'
const credit = '10'
const by = 'demonstration'

export interface Demo {
  readonly key: string
  readonly model: string
  /** Networks that upstreams may have because of it. */
  readonly allow: readonly string[]
  close(): void
}

async function isEmpty(db: Db): Promise<boolean> {
  const account = await db.first(sql.selectFrom('accounts').select('id').limit(1))
  const upstream = await db.first(sql.selectFrom('upstreams').select('id').limit(1))
  const model = await db.first(sql.selectFrom('models').select('id').limit(1))
  return account === undefined && upstream === undefined && model === undefined
}

async function isWanted(config: Config, db: Db): Promise<boolean> {
  if (config.demo !== null) return config.demo
  for (const name of [begunSetting, keySetting]) if ((await setting(db, name)) !== undefined) return true
  return !config.production && (await isEmpty(db))
}

/** Points the demonstration's upstream at this start's port; makes it the first time. */
async function placeUpstream(db: Db, baseUrl: string, rules: UpstreamRules): Promise<Change[]> {
  const known = await upstreamById(db, upstreamName, rules.sealer)
  const { changes } = known
    ? await updateUpstream(db, known.id, { baseUrl }, rules)
    : await createUpstream(db, { name: upstreamName, provider: 'demo', baseUrl, credential: '' }, rules)
  return [...changes]
}

async function addModels(db: Db): Promise<Change[]> {
  const changes: Change[] = []
  for (const { priceSource: _, ...model } of referenceModels) {
    if ((await modelById(db, model.id)) !== undefined) continue
    const routes = [{ upstream: upstreamName, model: model.id }]
    changes.push(...(await createModel(db, { ...model, routes }, by)).changes)
  }
  return changes
}

/** The account's id. */
async function addAccount(db: Db): Promise<Changed<string>> {
  const known = await accountByEmail(db, email)
  if (known !== undefined) return { value: known.id, changes: [] }
  const { value, changes } = await createAccount(db, { email, name: 'Demonstration', tier: 'standard' }, by)
  return { value: value.id, changes }
}

/** A key in the place of those whose secrets were lost with the start that made them. */
async function addKey(db: Db, accountId: string, keysMax: number): Promise<Changed<string>> {
  const name = 'demonstration'
  const changes: Change[] = []
  for (const key of await listKeys(db, accountId)) {
    if (key.name === name) changes.push(...(await deleteKey(db, key.id, by)).changes)
  }
  const key = await createKey(db, { accountId, name }, { by, keysMax })
  return { value: key.value.secret, changes: [...changes, ...key.changes] }
}

/** Adds what is missing; the secret of the key. */
async function furnish(config: Config, core: Core, orders: Orders): Promise<string> {
  const { db } = core.store
  const models = await addModels(db)
  const account = await addAccount(db)
  const key = await addKey(db, account.value, config.keysPerAccount)
  await orders.announce([...models, ...account.changes, ...key.changes])
  await core.credits.enter({
    account: account.value,
    amount: nanosOf(credit),
    reason: 'Credit of the demonstration',
    source: 'demo',
    idempotencyKey: 'demonstration',
  })
  await putSetting(db, keySetting, core.sealer.seal(key.value, keySetting))
  return key.value
}

/** Opens the demonstration where it is wanted; `null` where not. */
export async function openDemo(config: Config, core: Core, orders: Orders): Promise<Demo | null> {
  const { db } = core.store
  if (!(await isWanted(config, db))) return null
  if ((await setting(db, begunSetting)) === undefined) await putSetting(db, begunSetting, '1')
  const upstream = await openDemoUpstream()
  const rules = { by, sealer: core.sealer, checkUrl: () => null }
  await core.refresh(await placeUpstream(db, upstream.url, rules))
  const sealed = await setting(db, keySetting)
  const key =
    sealed === undefined ? await furnish(config, core, orders) : core.sealer.unseal(sealed, keySetting)
  return { key, model: 'family-a-small', allow: [`${demoAddress}/32`], close: () => upstream.close() }
}
