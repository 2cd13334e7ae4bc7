/** docs/errors.md: every error code of src/errors.ts, with an anchor, what it means and what to do. */
import { apiError, type ApiErrorCode } from '../src/errors.ts'

const groups = {
  any: 'All endpoints',
  model: 'Keys, models and money',
  idempotency: 'Idempotent requests',
  responses: 'Responses API',
  console: 'Console and admin API',
} as const

/** The group, what the code means, and what to do. */
const explanations: Readonly<Record<ApiErrorCode, readonly [keyof typeof groups, string, string]>> = {
  invalid_request: [
    'any',
    'A field, parameter or header is missing, invalid or not supported. An error of the provider about the request also has this code if the provider sent none; its status, message and code are kept.',
    'Correct the field that `param` names. If the message is the provider’s, its documentation applies.',
  ],
  context_length_exceeded: [
    'model',
    'The prompt, or the prompt and the maximum of output tokens, are longer than the context of the model. Providers say so in many ways; the message has the provider’s words. In Anthropic’s format it begins with “prompt is too long:”.',
    'Shorten or compact the conversation, lower the maximum, or use a model with a larger context.',
  ],
  invalid_json: ['any', 'The body is not JSON.', 'Send one JSON object in UTF-8.'],
  not_found: [
    'any',
    'The path or the object that it names does not exist, or belongs to another account.',
    'Check the path and the id. [`/openapi.json`](api.md#endpoints) lists all endpoints.',
  ],
  method_not_allowed: [
    'any',
    'The path exists, but not for this method.',
    'Use a method that the message names.',
  ],
  request_too_large: [
    'any',
    'The body is larger than the relay accepts: 32 MiB unless the operator changed `BODY_LIMIT`.',
    'Send less, for example smaller images. Operators set [`BODY_LIMIT`](configuration.md#limits).',
  ],
  unsupported_media_type: [
    'any',
    'The body is not declared as JSON.',
    'Send the header `Content-Type: application/json`.',
  ],
  rate_limit_exceeded: [
    'any',
    'A [rate limit](api.md#rate-limits) of the key, the account, the tier or the model is reached, the provider limits its own, or the account’s running requests hold too much data. The message names the limit. In the console, there were too many attempts to sign in.',
    'Wait as long as `Retry-After` says. With `x-should-retry: false`, the request is larger than the limit itself: lower `max_tokens` or shorten the prompt.',
  ],
  server_error: [
    'any',
    'A bug in the relay.',
    'Retry later. Send the `x-request-id` to the operator, whose log has the details.',
  ],
  service_unavailable: [
    'any',
    'The relay is starting, shutting down, out of memory for request bodies, or cannot write to its database.',
    'Retry after `Retry-After`. Operators: [Monitoring](operations/monitoring.md) and `sluice doctor`.',
  ],
  payment_unavailable: [
    'console',
    'The payment provider gave no response that can be verified. The order is stored, and a payment is never lost.',
    'Repeat the call, with the same `client_key` if it made an order.',
  ],
  invalid_api_key: [
    'model',
    'The key is missing, mistyped, disabled, deleted or expired.',
    'Send `Authorization: Bearer <key>`, or `x-api-key`. The console shows the state of each key; a lost key cannot be shown again, so create a new one.',
  ],
  account_suspended: ['model', 'The operator has suspended the account.', 'Contact the operator.'],
  address_not_allowed: [
    'model',
    'The key has a list of IP addresses, and yours is not on it.',
    'Add the address to the key. Behind a proxy, operators set [`TRUST_PROXY`](configuration.md#network), otherwise the relay sees the proxy’s address.',
  ],
  model_not_allowed: [
    'model',
    'The key has a list of models, and this one is not on it.',
    'Add the model to the key, or use another key.',
  ],
  model_not_found: [
    'model',
    'No model has this name, or the model is for another endpoint, which the message names.',
    'Use a name from `GET /v1/models`.',
  ],
  insufficient_quota: [
    'model',
    'The balance does not cover the [hold](glossary.md#hold) of the request, or ran out during the response.',
    'Add funds, or lower `max_tokens`: less is held then. Retrying does not help.',
  ],
  spend_cap_exceeded: [
    'model',
    'A daily, monthly or lifetime [cap](glossary.md#cap) of the key or the account is reached.',
    'Raise the cap, or wait until the time in the message.',
  ],
  upstream_unavailable: [
    'model',
    'No provider of the model is available, or the provider ended its response early.',
    'Retry after `Retry-After`. Operators find what each provider said by the `x-request-id`: [Monitoring](operations/monitoring.md).',
  ],
  idempotency_key_reused: [
    'idempotency',
    'An earlier request with this `Idempotency-Key` had a different body.',
    'Use a new key for a new body.',
  ],
  idempotency_conflict: [
    'idempotency',
    'A request with this `Idempotency-Key` is in progress, its response was not stored, or nobody knows whether it took effect.',
    'Retry after `Retry-After` to get the response of the first request. With `x-should-retry: false`, check what the first request did, then use a new key: [Idempotent requests](api.md#idempotent-requests).',
  ],
  previous_response_not_found: [
    'responses',
    'The response that `previous_response_id` names is not [stored](responses.md#stored-responses) for this account, its upstream is gone, or this [WebSocket](responses.md#websocket-mode) does not have it.',
    'Send the whole conversation in `input`.',
  ],
  response_not_found: [
    'responses',
    'This account has stored no [response](responses.md#stored-responses) with this id, or the provider has deleted it.',
    'Check the id. Only responses with `store: true` at an upstream that stores them can be fetched.',
  ],
  invalid_encrypted_content: [
    'responses',
    'The [summary](responses.md#compaction) of a compacted conversation belongs to another account, was changed, or is too old.',
    'Remove the item that `param` names, and send the conversation itself.',
  ],
  compaction_failed: [
    'responses',
    'The model wrote no complete [summary](responses.md#compaction). Its tokens are charged.',
    'Try another model, or a shorter conversation.',
  ],
  invalid_stream_id: [
    'responses',
    'The `stream_id` of a frame on a [WebSocket](responses.md#websocket-mode) has characters that are not allowed, or is too long.',
    'Use 1 to 256 letters, digits, underscores, hyphens or periods.',
  ],
  websocket_stream_limit_reached: [
    'responses',
    'Too many responses are running on this [WebSocket](responses.md#websocket-mode).',
    'Wait for one of them, or open another WebSocket.',
  ],
  websocket_connection_limit_reached: [
    'responses',
    'The [WebSocket](responses.md#websocket-mode) has been open for 60 minutes.',
    'Open another one.',
  ],
  session_required: [
    'console',
    'Nobody is signed in, or the session has expired.',
    'Sign in to the console.',
  ],
  wrong_credentials: [
    'console',
    'The e-mail address and the password do not match, or the passkey could not be verified.',
    'Try again, or reset the password.',
  ],
  wrong_code: [
    'console',
    'The code of the authenticator app or the recovery code is incorrect or was already used.',
    'Enter the current code, and check the clock of the device.',
  ],
  password_refused: [
    'console',
    'The new password is too short, too long, too common, or derived from the e-mail address.',
    'Choose another one; the message says what is wrong with it.',
  ],
  link_invalid: [
    'console',
    'The one-time link was used, has expired, or was replaced by a newer one.',
    'Request a new link. Operators create one by `sluice admin link`.',
  ],
  permission_denied: [
    'console',
    'The session may read, but not change anything: an operator is impersonating an account.',
    'End the impersonation first.',
  ],
  password_required: [
    'console',
    'The action needs a password that was entered within the last five minutes.',
    'Confirm the password, then repeat the call. Scripts with `ADMIN_API_KEY` are not asked.',
  ],
  cross_site: [
    'console',
    'The call came from a page of another site.',
    'Open the console at its own address. Behind a proxy, operators set [`PUBLIC_URL`](configuration.md#network).',
  ],
  operators_only: ['console', 'Only operators may call this endpoint.', 'Sign in as an operator.'],
  no_account: [
    'console',
    'The signed-in user has no account, as most operators.',
    'Sign in as a customer, or impersonate an account.',
  ],
  sign_up_closed: [
    'console',
    'Nobody can sign up at this relay.',
    'Ask the operator for an account. Operators set [`SIGN_UP`](configuration.md#access).',
  ],
  invite_invalid: [
    'console',
    'The invite code is mistyped, used up or expired.',
    'Ask the operator for a new one.',
  ],
  conflict: [
    'console',
    'An object with this name exists, something still refers to the object, or somebody else changed it at the same time.',
    'Read the message, load the object again, and repeat the change if it is still needed.',
  ],
}

const errorCodes = Object.keys(explanations) as ApiErrorCode[]

function retryText(code: ApiErrorCode): string {
  const error = apiError(code)
  if (error.final) return 'no'
  return error.status === 500 || code === 'conflict' ? 'later' : 'after `Retry-After`'
}

function renderCode(code: ApiErrorCode): string {
  const [, meaning, action] = explanations[code]
  const error = apiError(code)
  const facts = `Status ${error.status}, type \`${error.toBody().error.type}\`. Retry: ${retryText(code)}.`
  return `### ${code}\n\n${facts}\n\n> ${error.message}\n\n${meaning}\n\n**What to do:** ${action}\n`
}

export function renderErrorsPage(): string {
  const table = errorCodes
    .toSorted((a, b) => apiError(a).status - apiError(b).status || (a < b ? -1 : 1))
    .map((code) => `| ${apiError(code).status} | [\`${code}\`](#${code}) | ${retryText(code)} |`)
  const sections = Object.entries(groups).map(([group, title]) => {
    const codes = errorCodes.filter((code) => explanations[code][0] === group)
    return `## ${title}\n\n${codes.map(renderCode).join('\n')}`
  })
  return [
    '# Error codes',
    'Every error response has a `code`, and this page says what each code means and what to do. [Errors](api.md#errors) describes the body, the headers and which errors to retry. [Anthropic’s format](messages.md#errors) has other types, but the same codes. A provider’s own error keeps the provider’s code.\n\nThe quoted message is the default; most messages are more specific. This page is generated from `src/errors.ts` and `site/error-reference.ts` by `npm run docs`.',
    `| Status | Code | Retry |\n|---|---|---|\n${table.join('\n')}`,
    ...sections,
  ].join('\n\n')
}
