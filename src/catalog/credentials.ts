/**
 * Additional credentials of an upstream. Requests are spread over all credentials by weight; one that is
 * rejected or out of credit is paused while the others continue. Secrets are stored encrypted and never
 * returned.
 */
import type { RowFields } from '../db/row-fields.ts'
import { apiError, notFound, invalidField } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import type { Sealer } from '../lib/encryption.ts'
import { auditStatement } from '../db/audit.ts'
import { auditChanges } from '../db/audit-changes.ts'
import type { Changed } from '../db/change.ts'
import { requireAtMost, writeIfFound, type Db } from '../db/db.ts'
import { sql, type UpstreamCredentialsTable } from '../db/schema/schema.ts'
import { isExpectationFailureOf, isForeignKeyViolation } from '../db/store-error.ts'
import { cleanCredential, checkWeight } from './upstream-fields.ts'

/** The id of the credential stored in the upstream's own row. */
export const mainCredentialId = 'main'

export interface Credential extends Pick<
  RowFields<UpstreamCredentialsTable>,
  'id' | 'label' | 'lastFour' | 'weight' | 'createdAt'
> {
  readonly enabled: boolean
}

/** Omitted fields stay unchanged. */
export interface CredentialPatch extends Partial<Pick<Credential, 'label' | 'weight' | 'enabled'>> {
  readonly credential?: string
}

export interface CredentialContext {
  readonly by: string
  readonly sealer: Sealer
}

const labelPattern = /^[^\p{Cc}]{0,100}$/u
const maxCredentials = 100
/** Four characters of a shorter secret would reveal too much of it. */
const minLengthForHint = 12

/**
 * The last four alphanumeric characters, so that a JSON key file shows some too. null if the secret is too
 * short.
 */
export function lastFourOf(credential: string): string | null {
  const alphanumerics = credential.replaceAll(/[^A-Za-z0-9]/g, '')
  return alphanumerics.length < minLengthForHint ? null : alphanumerics.slice(-4)
}

export function credentialOf(row: UpstreamCredentialsTable): Credential {
  const { id, label, weight, last_four: lastFour, created_at: createdAt } = row
  return { id, label, lastFour, weight, enabled: row.enabled === 1, createdAt }
}

function toColumns(
  patch: CredentialPatch,
  id: string,
  { sealer }: CredentialContext,
): Partial<UpstreamCredentialsTable> {
  const set: Partial<UpstreamCredentialsTable> = {}
  if (patch.credential !== undefined) {
    const credential = cleanCredential(patch.credential)
    if (credential === '') throw invalidField('credential', 'must not be empty')
    set.credential = sealer.seal(credential, id)
    set.last_four = lastFourOf(credential)
  }
  if (patch.label !== undefined) {
    if (!labelPattern.test(patch.label)) throw invalidField('label', 'must have at most 100 characters')
    set.label = patch.label
  }
  if (patch.weight !== undefined) set.weight = checkWeight(patch.weight)
  if (patch.enabled !== undefined) set.enabled = patch.enabled ? 1 : 0
  return set
}

/** What the audit log may contain. */
function toAuditDetail({ label, weight, enabled }: UpstreamCredentialsTable): object {
  return { label, weight, enabled: enabled === 1 }
}

async function loadChangedCredential(db: Db, upstreamId: string, id: string): Promise<Changed<Credential>> {
  const row = await db.first(sql.selectFrom('upstream_credentials').selectAll().where('id', '=', id))
  if (row === undefined) throw notFound('Credential')
  return { value: credentialOf(row), changes: [{ kind: 'upstream', id: upstreamId }] }
}

/** Throws 400 naming the field, 404 for an unknown upstream. */
export async function addCredential(
  db: Db,
  upstreamId: string,
  input: CredentialPatch & { readonly credential: string },
  context: CredentialContext,
): Promise<Changed<Credential>> {
  const now = Date.now()
  const id = newId('crd')
  const row: UpstreamCredentialsTable = {
    id,
    upstream_id: upstreamId,
    credential: '',
    last_four: null,
    label: '',
    weight: 1,
    enabled: 1,
    created_at: now,
    updated_at: now,
    ...toColumns(input, id, context),
  }
  const detail = { credential_id: id, ...toAuditDetail(row) }
  const count = sql
    .selectFrom('upstream_credentials')
    .select((build) => build.fn.countAll().as('count'))
    .where('upstream_id', '=', upstreamId)
  try {
    await db.write(
      sql.insertInto('upstream_credentials').values(row),
      requireAtMost(count, maxCredentials),
      auditStatement(context.by, 'upstream.credential.add', upstreamId, detail),
    )
  } catch (error) {
    if (isExpectationFailureOf(error, 1)) {
      throw apiError('conflict', {
        message: `An upstream can have at most ${maxCredentials} additional credentials.`,
      })
    }
    throw isForeignKeyViolation(error) ? notFound('Upstream') : error
  }
  return loadChangedCredential(db, upstreamId, id)
}

/** Throws 404 for an unknown id, 400 naming the field. A patch that changes nothing writes nothing. */
export async function updateCredential(
  db: Db,
  at: { readonly upstreamId: string; readonly id: string },
  patch: CredentialPatch,
  context: CredentialContext,
): Promise<Changed<Credential>> {
  const { upstreamId, id } = at
  const set = toColumns(patch, id, context)
  const rows = sql.selectFrom('upstream_credentials').selectAll().where('id', '=', id)
  const before = await db.first(rows.where('upstream_id', '=', upstreamId))
  if (before === undefined) throw notFound('Credential')
  const after = { ...before, ...set }
  const { sealer } = context
  const isReplaced = sealer.unseal(after.credential, id) !== sealer.unseal(before.credential, id)
  const changes = auditChanges(toAuditDetail(before), toAuditDetail(after))
  if (changes === null && !isReplaced) return { value: credentialOf(before), changes: [] }
  const detail = { credential_id: id, ...changes, ...(isReplaced ? { credential: 'changed' } : {}) }
  const update = sql
    .updateTable('upstream_credentials')
    .set({ ...set, updated_at: Date.now() })
    .where('id', '=', id)
  const isUpdated = await writeIfFound(
    db,
    update.where('upstream_id', '=', upstreamId),
    auditStatement(context.by, 'upstream.credential.update', upstreamId, detail),
  )
  if (!isUpdated) throw notFound('Credential')
  return loadChangedCredential(db, upstreamId, id)
}

/** Throws 404 for an unknown id. */
export async function deleteCredential(
  db: Db,
  at: { readonly upstreamId: string; readonly id: string },
  by: string,
): Promise<Changed<undefined>> {
  const { upstreamId, id } = at
  const remove = sql.deleteFrom('upstream_credentials').where('id', '=', id)
  if (
    !(await writeIfFound(
      db,
      remove.where('upstream_id', '=', upstreamId),
      auditStatement(by, 'upstream.credential.delete', upstreamId, { credential_id: id }),
    ))
  )
    throw notFound('Credential')
  return { value: undefined, changes: [{ kind: 'upstream', id: upstreamId }] }
}

/** The additional credentials, oldest first. */
export async function listCredentials(db: Db, upstreamId: string): Promise<Credential[]> {
  const rows = sql.selectFrom('upstream_credentials').selectAll().where('upstream_id', '=', upstreamId)
  return (await db.all(rows.orderBy('id'))).map(credentialOf)
}
