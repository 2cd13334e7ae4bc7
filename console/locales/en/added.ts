/** What is added to the requests to an upstream, and what it speaks. */
export const added = {
  headers: 'Added headers',
  headersHint: 'One “Name: value” per line, sent with every request. Stored encrypted and not shown again.',
  headersStored: (names: string) =>
    `Stored: ${names}. Leave empty to keep them; what you enter replaces all of them.`,
  removeHeaders: 'Remove the stored headers',
  body: 'Added body fields',
  bodyHint: 'A JSON object whose fields are added to requests that do not have them',
  responses: 'Responses API',
  passedThrough: 'Passed through to the upstream',
  translated: 'Translated to chat completions',
}
