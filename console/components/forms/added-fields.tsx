/** The headers and the body fields that are added to every request to an upstream. */
import { Checkbox, Textarea } from '@mantine/core'
import type { Upstream } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'

/** The values of headers are never shown again: an empty field keeps them. */
export function addedDraftFrom(upstream: Upstream | null) {
  const hasBody = upstream !== null && Object.keys(upstream.body).length > 0
  return {
    headers: '',
    removes_headers: '',
    body: hasBody ? JSON.stringify(upstream.body, null, 2) : '',
  }
}

type AddedDraft = ReturnType<typeof addedDraftFrom>

/** `Name: value`, one a line. */
function headersFrom(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':')
      return [name.trim(), value.join(':').trim()]
    }),
  )
}

/** Text that is not JSON is sent unchanged, so that the API rejects it. */
function jsonFrom(text: string): unknown {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export function addedFromDraft({ headers, removes_headers: removes, body }: AddedDraft) {
  const hasHeaders = headers.trim() !== ''
  return {
    ...(removes === '' ? {} : { headers: null }),
    ...(hasHeaders ? { headers: headersFrom(headers) } : {}),
    body: jsonFrom(body),
  }
}

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
