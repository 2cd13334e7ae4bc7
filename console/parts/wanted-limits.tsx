/** The limits that somebody asks for, in words. */
import type { LimitRequest } from '../contract.ts'
import { useWords } from '../language.ts'
import { numberText } from './format.ts'

const limitNames = ['rpm', 'tpm', 'rpd', 'concurrency'] as const

export function WantedLimits({ wanted }: { readonly wanted: LimitRequest['wanted'] }) {
  const shell = useWords('shell')
  return limitNames
    .flatMap((name) => {
      const limit = wanted[name]
      return typeof limit === 'number' ? [`${shell.limits[name]}: ${numberText(limit)}`] : []
    })
    .join(', ')
}
