/**
 * The demonstration: on an empty data directory outside production, creates the reference models with an internal upstream,
 * and an account with a key and credit, so that the first request is a paste away.
 */
import { accountByEmail, createAccount } from '../../accounts/accounts.ts'
import { createKey, deleteKey, listKeys } from '../../accounts/keys.ts'
import { createModel, modelById } from '../../catalog/models.ts'
import { referenceModels } from '../../catalog/reference-models.ts'
import { createUpstream, updateUpstream, upstreamById } from '../../catalog/upstreams.ts'
import type { UpstreamContext } from '../../catalog/upstream-fields.ts'
import type { Config } from '../../config.ts'
import type { Change, Changed } from '../../db/change.ts'
import type { Db } from '../../db/db.ts'
import { sql } from '../../db/schema/schema.ts'
import { setSetting, getSetting } from '../../db/settings.ts'
import { parseAmount } from '../../lib/money.ts'
import type { Core } from '../../engine/core.ts'
import { demoAddress, startDemoUpstream } from './demo-upstream.ts'
import type { ControlHandler } from '../workers/control-handler.ts'

const upstreamName = 'demonstration'
const keySetting = 'demo_key'
/** Set before the first row is written, so that the next start completes an interrupted one. */
const startedSetting = 'demo_begun'
const email = 'demo@sluice.example'
const credit = '10'
const by = 'demonstration'

export interface Demo {
  readonly key: string
  readonly model: string
  /** Networks that it adds to those that upstreams may use. */
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
  for (const name of [startedSetting, keySetting]) if ((await getSetting(db, name)) !== undefined) return true
  return !config.production && (await isEmpty(db))
}

/** Points the demonstration upstream at this start's port; creates it the first time. */
async function createOrUpdateUpstream(db: Db, baseUrl: string, rules: UpstreamContext): Promise<Change[]> {
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
    const routes = [{ upstream: upstreamName, model: model.id, cost: { free: true } as const }]
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

/** Replaces keys whose secrets were lost with an interrupted start. */
async function addKey(db: Db, accountId: string, maxKeys: number): Promise<Changed<string>> {
  const name = 'demonstration'
  const changes: Change[] = []
  for (const key of await listKeys(db, accountId)) {
    if (key.name === name) changes.push(...(await deleteKey(db, key.id, by)).changes)
  }
  const key = await createKey(db, { accountId, name }, { by, maxKeys })
  return { value: key.value.secret, changes: [...changes, ...key.changes] }
}

/** Adds what is missing, and returns the secret of the key. */
async function createDemoData(config: Config, core: Core, control: ControlHandler): Promise<string> {
  const { db } = core.store
  const models = await addModels(db)
  const account = await addAccount(db)
  const key = await addKey(db, account.value, config.keysPerAccount)
  await control.publishChanges([...models, ...account.changes, ...key.changes])
  await core.credits.enter({
    account: account.value,
    amount: parseAmount(credit),
    reason: 'Credit of the demonstration',
    source: 'demo',
    idempotencyKey: 'demonstration',
  })
  await setSetting(db, keySetting, core.sealer.seal(key.value, keySetting))
  return key.value
}

/** Starts the demonstration if it is enabled; otherwise `null`. */
export async function startDemo(config: Config, core: Core, control: ControlHandler): Promise<Demo | null> {
  const { db } = core.store
  if (!(await isWanted(config, db))) return null
  if ((await getSetting(db, startedSetting)) === undefined) await setSetting(db, startedSetting, '1')
  const upstream = await startDemoUpstream()
  const rules = { by, sealer: core.sealer, checkUrl: () => null }
  await core.publishChanges(await createOrUpdateUpstream(db, upstream.url, rules))
  const sealed = await getSetting(db, keySetting)
  const key =
    sealed === undefined
      ? await createDemoData(config, core, control)
      : core.sealer.unseal(sealed, keySetting)
  return { key, model: 'family-a-small', allow: [`${demoAddress}/32`], close: () => upstream.close() }
}
