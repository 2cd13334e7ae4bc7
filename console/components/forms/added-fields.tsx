/** The headers and the body fields that are added to every request to an upstream. */
import { Checkbox, Textarea } from '@mantine/core'
import { useMessages } from '../../locales/messages.ts'
import type { AddedDraft } from './added-draft.ts'

export interface AddedFieldsProps {
  readonly draft: AddedDraft
  readonly set: (name: keyof AddedDraft, value: string) => void
  readonly headerNames: readonly string[]
  readonly errorOf: (name: string) => string | undefined
}

export function AddedFields({ draft, set, headerNames, errorOf }: AddedFieldsProps) {
  const t = useMessages('catalog').added
  const hasHeaders = headerNames.length > 0
  return (
    <>
      <Textarea
        label={t.headers}
        description={hasHeaders ? t.headersStored(headerNames.join(', ')) : t.headersHint}
        placeholder="HTTP-Referer: https://example.com"
        autosize
        minRows={2}
        name="headers"
        error={errorOf('headers')}
        value={draft.headers}
        onChange={(event) => set('headers', event.currentTarget.value)}
      />
      {hasHeaders && (
        <Checkbox
          label={t.removeHeaders}
          checked={draft.removes_headers !== ''}
          onChange={(event) => set('removes_headers', event.currentTarget.checked ? 'yes' : '')}
        />
      )}
      <Textarea
        label={t.body}
        description={t.bodyHint}
        placeholder={'{"user": "relay"}'}
        autosize
        minRows={2}
        name="body"
        error={errorOf('body')}
        value={draft.body}
        onChange={(event) => set('body', event.currentTarget.value)}
      />
    </>
  )
}
