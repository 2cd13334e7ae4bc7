/**
 * What models can do, and the requests of each. Endpoints, the admin API, request rows and the console know operations by
 * this table only.
 */

/** What a model declares. */
export const modelOperations = ['chat', 'completions', 'embeddings'] as const
export type ModelOperation = (typeof modelOperations)[number]

export const defaultOperations: readonly ModelOperation[] = ['chat']

/** Requests, as their rows name them: the endpoint, and what the model must be able to do. */
export const requestOperations = {
  chat: { path: '/v1/chat/completions', model: 'chat' },
  messages: { path: '/v1/messages', model: 'chat' },
  responses: { path: '/v1/responses', model: 'chat' },
  completions: { path: '/v1/completions', model: 'completions' },
  embeddings: { path: '/v1/embeddings', model: 'embeddings' },
} as const satisfies Readonly<Record<string, { readonly path: string; readonly model: ModelOperation }>>
export type RequestOperation = keyof typeof requestOperations
export const requestOperationNames = Object.keys(requestOperations) as RequestOperation[]

/**
 * Completions are short and many: editors ask for one at each keystroke, and a larger hold would reject most of them.
 * Embeddings have no output.
 */
export function holdsOwnMaximum(operation: RequestOperation): boolean {
  return operation === 'completions' || operation === 'embeddings'
}

/** The endpoints for a model that can do this. */
export function pathsFor(operations: readonly ModelOperation[]): string[] {
  return Object.values(requestOperations)
    .filter(({ model }) => operations.includes(model))
    .map(({ path }) => path)
}
