/** One who writes into the database of a cluster beside us. */

/** Begins to write a row of the requests, so that whoever wants to write the same one waits. */
export function strangerWrites(rowId: number): string {
  return `set idle_in_transaction_session_timeout = 0; begin; insert into requests (row_id, request_id, at, account_id, key_id, model, http_status, outcome,
    stream, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost_nanos, duration_ms, attempts, hold_nanos)
    values (${rowId}, 'stranger', 0, '', '', '', 0, '', 0, 0, 0, 0, 0, 0, 0, '', 0)`
}
