/** What a request asked for, and what a model can do. */
import type { OfferedModel } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'

export function OperationName({ operation }: { readonly operation: string | null }) {
  const names: Readonly<Record<string, string>> = useMessages('shell').operationNames
  return operation === null ? '–' : (names[operation] ?? operation)
}

/** Nothing for a model that can only chat, as most can. */
export function ModelOperations({ operations }: Pick<OfferedModel, 'operations'>) {
  const { modelOperations } = useMessages('shell')
  if (operations.every((operation) => operation === 'chat')) return null
  return <small>{operations.map((operation) => modelOperations[operation]).join(', ')}</small>
}
