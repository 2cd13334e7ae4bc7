/**
 * Calls of the admin API with an `Idempotency-Key`, in the table of stored responses, where the administrator takes the
 * place of the account. A call is claimed before it can have an effect, in a commit of its own, so that no crash and no
 * other node lets it take effect twice. Its response is added when it ends. Expired rows are deleted with all others
 * (retention/).
 */

import type { Query } from './db.ts'
import { storedResponseTtlMs } from './retention/stored-responses.ts'
import { sql } from './schema/schema.ts'

export interface IdempotentCall {
  /** Not an account's id, and another one for each administrator. */
  readonly administrator: string
  /** SHA-256 in base64url, as `bodyHash` is. */
  readonly keyHash: string
  readonly bodyHash: string
  readonly requestId: string
  readonly at: number
}

type CallKey = Pick<IdempotentCall, 'administrator' | 'keyHash' | 'requestId'>

/** Changes one row if the call may begin, and none if its key is in use. */
export function claimCallStatement(call: IdempotentCall): Query {
  const row = {
    account_id: call.administrator,
    key_hash: call.keyHash,
    body_hash: call.bodyHash,
    request_id: call.requestId,
    at: call.at,
    cost_nanos: 0n,
    answer: null,
  }
  return sql
    .insertInto('kept_answers')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'key_hash'])
        .doUpdateSet(row)
        .where('kept_answers.at', '<=', call.at - storedResponseTtlMs),
    )
}

/** `response`: sealed with the request's id. */
export function storeResponseStatement(call: CallKey, response: Uint8Array): Query {
  return sql
    .updateTable('kept_answers')
    .set({ answer: response })
    .where('account_id', '=', call.administrator)
    .where('key_hash', '=', call.keyHash)
    .where('request_id', '=', call.requestId)
}

/** Frees the key of a call that had no effect. */
export function releaseCallStatement(call: CallKey): Query {
  return sql
    .deleteFrom('kept_answers')
    .where('account_id', '=', call.administrator)
    .where('key_hash', '=', call.keyHash)
    .where('request_id', '=', call.requestId)
}
