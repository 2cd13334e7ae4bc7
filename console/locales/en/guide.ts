/** The customer's guide. English. */

export const guide = {
  title: 'Guide',
  lead: 'From your first request to keeping keys safe.',
  contents: 'Contents',
  anyModel: 'model-name',
  first: {
    title: 'First request',
    text: [
      'Create an API key under “API keys” and copy it: it is shown only once. Then change two settings in any OpenAI-compatible client: the base URL and the API key.',
      'The base URL of this service:',
    ],
  },
  stream: {
    title: 'Streaming',
    text: [
      'With `"stream": true` the response arrives in chunks as server-sent events. A chunk may have no content, so check before you append it. The stream ends with `data: [DONE]`.',
      'To receive usage, set `stream_options.include_usage`: the last chunk then contains tokens and cost. If you close the connection, the request is canceled and you pay for what was delivered.',
    ],
  },
  errors: {
    title: 'Errors',
    text: [
      'Every error has the same format: `{"error": {"message", "type", "param", "code"}}`. Every response has an `x-request-id` header; give it to support, or look it up under “Usage”.',
    ],
    status: 'Status',
    code: 'Code',
    meaning: 'Meaning',
    whatToDo: 'What to do',
    table: [
      {
        status: 400,
        code: 'invalid_request',
        meaning: 'A field is invalid; `param` in the error names it.',
        whatToDo: 'Correct the request. Do not retry it unchanged.',
      },
      {
        status: 401,
        code: 'invalid_api_key',
        meaning: 'The key is missing, mistyped, deleted or expired.',
        whatToDo: 'Check the key, or create a new one.',
      },
      {
        status: 402,
        code: 'insufficient_quota',
        meaning: 'The balance is too low for the request.',
        whatToDo: 'Top up under “Billing”.',
      },
      {
        status: 402,
        code: 'spend_cap_exceeded',
        meaning: 'A cap of the key or the account has been reached.',
        whatToDo: 'Raise the cap, or wait for the next day or month.',
      },
      {
        status: 403,
        code: 'model_not_allowed',
        meaning: 'This key is not allowed to use this model.',
        whatToDo: 'Edit the key’s models under “API keys”.',
      },
      {
        status: 403,
        code: 'address_not_allowed',
        meaning: 'This key cannot be used from your IP address.',
        whatToDo: 'Edit the key’s IP allowlist under “API keys”.',
      },
      {
        status: 403,
        code: 'account_suspended',
        meaning: 'The account is suspended.',
        whatToDo: 'Contact the operator of this service.',
      },
      {
        status: 404,
        code: 'model_not_found',
        meaning: 'The model does not exist.',
        whatToDo: 'Use a name from “Models”.',
      },
      {
        status: 429,
        code: 'rate_limit_exceeded',
        meaning: 'Too many requests or tokens.',
        whatToDo: 'Wait for the time in `Retry-After`, then retry.',
      },
      {
        status: 500,
        code: 'server_error',
        meaning: 'An internal error occurred.',
        whatToDo: 'Retry once or twice with a pause, then report the request ID.',
      },
      {
        status: 503,
        code: 'upstream_unavailable',
        meaning: 'The model is temporarily unavailable.',
        whatToDo: 'Wait for the time in `Retry-After`, then retry, or use another model.',
      },
    ],
  },
  retries: {
    title: 'Retries',
    text: [
      'The official clients retry 429 and 5xx automatically. If `x-should-retry` is false, for example when the balance is used up, do not retry.',
      'Send a unique `Idempotency-Key` with each request and keep it on retries: the request is processed and charged once, and the retry receives the same response.',
    ],
  },
  limits: {
    title: 'Limits',
    text: [
      'Limits apply to requests per minute and per day, tokens per minute, and concurrent requests. The `x-ratelimit-*` headers of each response show what is left. See your limits under “Rate limits”, where you can also request an increase.',
      'When a daily or monthly spend cap is reached, requests are rejected. You are notified at 50%, 80% and 100%.',
    ],
  },
  prices: {
    title: 'Tokens and prices',
    text: [
      'Prices are per 1,000 tokens, with separate prices for input and output; see “Models”. A token is about four English characters, or one and a half to two Chinese characters. The provider’s count applies; it is in the `usage` field of each response.',
      'Before a request, its maximum cost is held; afterwards only the actual cost is charged. Non-streaming responses state their cost in the `x-sluice-cost` header. To query your balance:',
    ],
  },
  safety: {
    title: 'Keeping keys safe',
    text: [
      'A key is money. Never put it into a web page, an app or a public repository. Keep it on your own server and let your users call your server.',
      'Use a separate key with a daily cap for each app and, if its address is fixed, an IP allowlist. Rotate keys regularly: the old key keeps working for a grace period, so nothing breaks. If a key leaks, delete it; this takes effect everywhere within a second.',
    ],
  },
  apps: {
    title: 'Common apps',
    text: [
      'Choose “OpenAI” or “OpenAI compatible” as the provider, then enter the base URL and the key. Some apps expect the URL without `/v1`.',
    ],
    app: 'App',
    where: 'Setting',
    address: 'Base URL',
  },
}
