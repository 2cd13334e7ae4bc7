/** What a request asked for. */
import { useMessages } from '../../locales/messages.ts'

export function OperationName({ operation }: { readonly operation: string | null }) {
  const names: Readonly<Record<string, string>> = useMessages('shell').operationNames
  return operation === null ? '–' : (names[operation] ?? operation)
}
