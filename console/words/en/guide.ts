/** The customer's manual. English. */

export const guide = {
  title: 'Guide',
  lead: 'From the first call to keeping a key safe.',
  contents: 'Contents',
  anyModel: 'the-model',
  first: {
    title: 'First call',
    text: [
      'Create a key under “Keys” and copy it: it is shown only once. Then change two things in any client of the OpenAI format: its base address and its key.',
      'The base address of this service:',
    ],
  },
  stream: {
    title: 'Streaming',
    text: [
      'With "stream": true the answer comes piece by piece as server-sent events. A piece may have no content: look before you append. The stream ends with "data: [DONE]".',
      'Ask for usage with stream_options.include_usage: the last piece before the end then tells tokens and cost. If you close the connection, the request ends and you pay for what was delivered.',
    ],
  },
  errors: {
    title: 'Errors and what to do',
    text: [
      'Every error has the same form: {"error": {"message", "type", "param", "code"}}. Each answer carries an x-request-id; give it to support, or look it up under “Usage”.',
    ],
    status: 'Status',
    code: 'Code',
    meaning: 'Meaning',
    whatToDo: 'What to do',
    table: [
      {
        status: 400,
        code: 'invalid_request',
        meaning: 'A field is not right; “param” names it.',
        whatToDo: 'Correct the request. Repeating it cannot help.',
      },
      {
        status: 401,
        code: 'invalid_api_key',
        meaning: 'The key is missing, mistyped, deleted or expired.',
        whatToDo: 'Check the key; create a new one if needed.',
      },
      {
        status: 402,
        code: 'insufficient_quota',
        meaning: 'The balance does not cover the request.',
        whatToDo: 'Recharge under “Billing”.',
      },
      {
        status: 402,
        code: 'spend_cap_exceeded',
        meaning: 'A cap of the key or the account is reached.',
        whatToDo: 'Raise the cap, or wait for the next day or month.',
      },
      {
        status: 403,
        code: 'model_not_allowed',
        meaning: 'This key may not call this model.',
        whatToDo: 'Change the key’s models under “Keys”.',
      },
      {
        status: 404,
        code: 'model_not_found',
        meaning: 'There is no such model.',
        whatToDo: 'Take a name from “Models”.',
      },
      {
        status: 429,
        code: 'rate_limit_exceeded',
        meaning: 'Too many requests or tokens for now.',
        whatToDo: 'Wait for the time in Retry-After, then repeat.',
      },
      {
        status: 500,
        code: 'server_error',
        meaning: 'Something went wrong on our side.',
        whatToDo: 'Repeat once or twice with a pause; report the request id.',
      },
      {
        status: 503,
        code: 'upstream_unavailable',
        meaning: 'No provider of this model can answer.',
        whatToDo: 'Repeat after Retry-After, or take another model.',
      },
    ],
  },
  retries: {
    title: 'Retries',
    text: [
      'The official clients repeat 429 and 5xx by themselves. Where x-should-retry says false, as with an exhausted balance, do not repeat.',
      'Give each call an Idempotency-Key of its own and repeat it unchanged: it is answered once and charged once, and the repetition gets the same answer.',
    ],
  },
  limits: {
    title: 'Limits',
    text: [
      'Requests and tokens are counted per minute, requests also per day, and a number may run at once. What is left stands in the x-ratelimit-* headers of each answer, your limits under “Limits”, where you can also ask for more.',
      'Caps on spending per day and month stop the service when they are reached; you are told at 80 % and when it happens.',
    ],
  },
  prices: {
    title: 'Tokens and prices',
    text: [
      'You pay per 1,000 tokens, input and output apart; the price list is under “Models”. A token is about four English characters, or one and a half to two Chinese ones. What counts is the provider’s own count, which stands in “usage” of each answer.',
      'Before a request the most it can cost is held, afterwards only what it did cost is charged. Whole answers tell their cost in the x-sluice-cost header. Your balance by API:',
    ],
  },
  safety: {
    title: 'Keeping a key safe',
    text: [
      'A key is money. Never put it into a web page, an app or a public repository: let your own server hold it, and let your users call your server.',
      'Give each application a key of its own with a daily cap and, where its address is known, an address list. Rotate keys from time to time: the old one goes on for a while, so nothing breaks. If one has leaked, delete it; that counts everywhere within a second.',
    ],
  },
  apps: {
    title: 'Common applications',
    text: [
      'Choose “OpenAI” or “OpenAI compatible” as the provider and enter address and key. Some want the address without /v1.',
    ],
    app: 'Application',
    where: 'Where',
    address: 'Address',
  },
}
