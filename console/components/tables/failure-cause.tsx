/** The cause of a failure, as operators read it. */
import type { ReactNode } from 'react'
import { useMessages } from '../../locales/messages.ts'

/** Causes are error codes of the relay and kinds of upstream errors. */
export function useFailureCause(): (cause: string) => ReactNode {
  const { causes } = useMessages('operations').failures
  const texts: Readonly<Record<string, string>> = { ...useMessages('auth').errors, ...causes }
  return (cause) => texts[cause] ?? <span lang="en">{cause}</span>
}
