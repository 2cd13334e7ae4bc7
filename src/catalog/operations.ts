/**
 * What models can do, and the requests of each. Endpoints, the admin API, request rows and the console know operations by
 * this table only.
 */

import type { OperationApi } from '../providers/openai/spoken-apis.ts'

/** What a model declares. */
export const modelOperations = ['chat', 'completions', 'embeddings'] as const
export type ModelOperation = (typeof modelOperations)[number]

/** A model that can do only these has no output, and needs no price for it. */
export const operationsWithoutOutput: ReadonlySet<ModelOperation> = new Set(['embeddings'])

export const defaultOperations: readonly ModelOperation[] = ['chat']

interface RequestOperationFacts {
  readonly path: string
  /** What the model must be able to do. */
  readonly model: ModelOperation
  /** Upstreams may have this API beside chat completions; absent: requests are translated into those, if necessary. */
  readonly api?: OperationApi
  /** The hold covers the maximum that was asked for, without the minimum of routes that may ignore it. */
  readonly holdsOwnMaximum?: true
  /** No other model can serve the request. */
  readonly hasNoFallbacks?: true
}

/** Requests, as their rows name them. */
export const requestOperations = {
  chat: { path: '/v1/chat/completions', model: 'chat' },
  messages: { path: '/v1/messages', model: 'chat' },
  responses: { path: '/v1/responses', model: 'chat', api: 'responses' },
  // They are short and many: editors ask for one at each keystroke, and a larger hold would reject most of them.
  completions: { path: '/v1/completions', model: 'completions', api: 'completions', holdsOwnMaximum: true },
  // They have no output, and vectors of another model are worthless.
  embeddings: {
    path: '/v1/embeddings',
    model: 'embeddings',
    api: 'embeddings',
    holdsOwnMaximum: true,
    hasNoFallbacks: true,
  },
} as const satisfies Readonly<Record<string, RequestOperationFacts>>
export type RequestOperation = keyof typeof requestOperations
export const requestOperationNames = Object.keys(requestOperations) as RequestOperation[]

export function factsOf(operation: RequestOperation): RequestOperationFacts {
  return requestOperations[operation]
}

/** The endpoints for a model that can do this. */
export function pathsFor(operations: readonly ModelOperation[]): string[] {
  return Object.values(requestOperations)
    .filter(({ model }) => operations.includes(model))
    .map(({ path }) => path)
}
