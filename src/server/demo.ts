/**
 * The demonstration: on an empty data directory outside production, the reference models over an upstream of ours,
 * and an account with a key and credit, so that the first request is one paste away.
 */
import { createAccount } from '../accounts/accounts.ts'
import { createKey } from '../accounts/keys.ts'
import { createModel } from '../catalog/models.ts'
import { referenceModels } from '../catalog/reference.ts'
import { createUpstream, updateUpstream, upstreamById } from '../catalog/upstreams.ts'
import type { UpstreamRules } from '../catalog/upstream-fields.ts'
import type { Config } from '../config.ts'
import type { Change } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema.ts'
import { putSetting, setting } from '../db/settings.ts'
import { nanosOf } from '../lib/money.ts'
import type { Core } from './core.ts'
import { demoAddress, openDemoUpstream } from './demo-upstream.ts'
import type { Orders } from './orders.ts'

const upstreamName = 'demonstration'
const keySetting = 'demo_key'
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
  return account === undefined && upstream === undefined
}

async function isWanted(config: Config, db: Db): Promise<boolean> {
  if (config.demo !== null) return config.demo
  if ((await setting(db, keySetting)) !== undefined) return true
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

async function furnish(config: Config, core: Core, orders: Orders): Promise<string> {
  const { db } = core.store
  const changes: Change[] = []
  for (const { priceSource: _, ...model } of referenceModels) {
    const routes = [{ upstream: upstreamName, model: model.id }]
    changes.push(...(await createModel(db, { ...model, routes }, by)).changes)
  }
  const email = 'demo@sluice.example'
  const account = await createAccount(db, { email, name: 'Demonstration', tier: 'standard' }, by)
  const key = await createKey(
    db,
    { accountId: account.value.id, name: 'demonstration' },
    { by, keysMax: config.keysPerAccount },
  )
  await orders.announce([...changes, ...account.changes, ...key.changes])
  await core.credits.enter({
    account: account.value.id,
    amount: nanosOf(credit),
    reason: 'Credit of the demonstration',
    source: 'demo',
    idempotencyKey: 'demonstration',
  })
  await putSetting(db, keySetting, core.sealer.seal(key.value.secret, keySetting))
  return key.value.secret
}

/** Opens the demonstration where it is wanted; `null` where not. */
export async function openDemo(config: Config, core: Core, orders: Orders): Promise<Demo | null> {
  const { db } = core.store
  if (!(await isWanted(config, db))) return null
  const upstream = await openDemoUpstream()
  const rules = { by, sealer: core.sealer, checkUrl: () => null }
  await core.refresh(await placeUpstream(db, upstream.url, rules))
  const sealed = await setting(db, keySetting)
  const key =
    sealed === undefined ? await furnish(config, core, orders) : core.sealer.unseal(sealed, keySetting)
  return { key, model: 'family-a-small', allow: [`${demoAddress}/32`], close: () => upstream.close() }
}
