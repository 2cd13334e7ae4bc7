/** The limits that somebody asks for, in words. */
import type { LimitRequest } from '../contract.ts'
import { useWords } from '../language.ts'
import { numberText } from '../components/format.ts'
import { limitNames } from '../components/forms/limit-fields.tsx'

export function WantedLimits({ wanted }: { readonly wanted: LimitRequest['wanted'] }) {
  const shell = useWords('shell')
  return limitNames
    .flatMap((name) => {
      const limit = wanted[name]
      return typeof limit === 'number' ? [`${shell.limits[name]}: ${numberText(limit)}`] : []
    })
    .join(', ')
}
