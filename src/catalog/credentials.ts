/**
 * Further credentials of an upstream, beside the one it was made with: requests are spread over all of them by weight,
 * and one that is refused or out of credit rests while the others go on. Secrets go in sealed and never come out.
 */
import { refuse, type Refusal } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import type { Sealer } from '../lib/encryption.ts'
import { auditRow } from '../db/audit.ts'
import type { Changed } from '../db/change.ts'
import { expecting, type Db } from '../db/db.ts'
import { sql, type UpstreamCredentialsTable } from '../db/schema/schema.ts'
import { isReferenced, isUnmet } from '../db/store-error.ts'
import { cleanCredential, weightOf } from './upstream-fields.ts'

/** The id of the credential that stands in the upstream itself. */
export const mainCredential = 'main'

export interface Credential {
  readonly id: string
  readonly label: string
  readonly lastFour: string | null
  readonly weight: number
  readonly enabled: boolean
  readonly createdAt: number
}

/** Not named stays. */
export interface CredentialPatch {
  readonly credential?: string
  readonly label?: string
  readonly weight?: number
  readonly enabled?: boolean
}

export interface CredentialRules {
  readonly by: string
  readonly sealer: Sealer
}

const labelPattern = /^[^\p{Cc}]{0,100}$/u
const credentialsMax = 100
/** A shorter secret would be told by four of its characters. */
const shownFrom = 12

/** The last four characters that are no punctuation, so that a key file shows some as well; null for a short one. */
export function lastFourOf(credential: string): string | null {
  const plain = credential.replaceAll(/[^A-Za-z0-9]/g, '')
  return plain.length < shownFrom ? null : plain.slice(-4)
}

export function credentialOf(row: UpstreamCredentialsTable): Credential {
  return {
    id: row.id,
    label: row.label,
    lastFour: row.last_four,
    weight: row.weight,
    enabled: row.enabled === 1,
    createdAt: row.created_at,
  }
}

function noSuchCredential(): Refusal {
  return refuse('not_found', { message: 'The upstream has no such credential.' })
}

function changesOf(
  patch: CredentialPatch,
  id: string,
  { sealer }: CredentialRules,
): Partial<UpstreamCredentialsTable> {
  const set: Partial<UpstreamCredentialsTable> = {}
  if (patch.credential !== undefined) {
    const credential = cleanCredential(patch.credential)
    if (credential === '') {
      throw refuse('invalid_request', { param: 'credential', message: 'credential may not be empty.' })
    }
    set.credential = sealer.seal(credential, id)
    set.last_four = lastFourOf(credential)
  }
  if (patch.label !== undefined) {
    if (!labelPattern.test(patch.label)) {
      throw refuse('invalid_request', { param: 'label', message: 'label may have at most 100 characters.' })
    }
    set.label = patch.label
  }
  if (patch.weight !== undefined) set.weight = weightOf(patch.weight)
  if (patch.enabled !== undefined) set.enabled = patch.enabled ? 1 : 0
  return set
}

/** What the audit log may know. */
function audited(id: string, { credential, ...open }: Partial<UpstreamCredentialsTable>): object {
  return { credential_id: id, ...open, ...(credential === undefined ? {} : { credential: 'changed' }) }
}

async function changed(db: Db, upstreamId: string, id: string): Promise<Changed<Credential>> {
  const row = await db.first(sql.selectFrom('upstream_credentials').selectAll().where('id', '=', id))
  if (row === undefined) throw noSuchCredential()
  return { value: credentialOf(row), changes: [{ kind: 'upstream', id: upstreamId }] }
}

/** Refuses with 400 naming the field, 404 for an unknown upstream. */
export async function addCredential(
  db: Db,
  upstreamId: string,
  input: CredentialPatch & { readonly credential: string },
  rules: CredentialRules,
): Promise<Changed<Credential>> {
  if ((await listCredentials(db, upstreamId)).length >= credentialsMax) {
    throw refuse('conflict', {
      message: `An upstream may have at most ${credentialsMax} further credentials.`,
    })
  }
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
    ...changesOf(input, id, rules),
  }
  try {
    await db.write(
      expecting(sql.insertInto('upstream_credentials').values(row), 1),
      auditRow(rules.by, 'upstream.credential.add', upstreamId, audited(id, row)),
    )
  } catch (error) {
    throw isReferenced(error) ? refuse('not_found', { message: 'There is no such upstream.' }) : error
  }
  return changed(db, upstreamId, id)
}

/** Refuses with 404 for an unknown id, 400 naming the field. */
export async function updateCredential(
  db: Db,
  at: { readonly upstreamId: string; readonly id: string },
  patch: CredentialPatch,
  rules: CredentialRules,
): Promise<Changed<Credential>> {
  const { upstreamId, id } = at
  const set = { ...changesOf(patch, id, rules), updated_at: Date.now() }
  const update = sql.updateTable('upstream_credentials').set(set).where('id', '=', id)
  try {
    await db.write(
      expecting(update.where('upstream_id', '=', upstreamId), 1),
      auditRow(rules.by, 'upstream.credential.update', upstreamId, audited(id, set)),
    )
  } catch (error) {
    throw isUnmet(error, 0) ? noSuchCredential() : error
  }
  return changed(db, upstreamId, id)
}

/** Refuses with 404 for an unknown id. */
export async function deleteCredential(
  db: Db,
  at: { readonly upstreamId: string; readonly id: string },
  by: string,
): Promise<Changed<undefined>> {
  const { upstreamId, id } = at
  const remove = sql.deleteFrom('upstream_credentials').where('id', '=', id)
  try {
    await db.write(
      expecting(remove.where('upstream_id', '=', upstreamId), 1),
      auditRow(by, 'upstream.credential.delete', upstreamId, { credential_id: id }),
    )
  } catch (error) {
    throw isUnmet(error, 0) ? noSuchCredential() : error
  }
  return { value: undefined, changes: [{ kind: 'upstream', id: upstreamId }] }
}

/** Those beside the upstream's own, oldest first. */
export async function listCredentials(db: Db, upstreamId: string): Promise<Credential[]> {
  const rows = sql.selectFrom('upstream_credentials').selectAll().where('upstream_id', '=', upstreamId)
  return (await db.all(rows.orderBy('id'))).map(credentialOf)
}
