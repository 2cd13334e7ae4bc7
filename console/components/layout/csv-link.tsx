/** The link that exports a list as CSV: all rows that the filters select, whatever the page shows of them. */
import { Button } from '@mantine/core'
import { queryString } from '../../api/client.ts'
import { useMessages } from '../../locales/messages.ts'
import { Icon } from './icon.tsx'

export interface CsvSource {
  /** The path of the list, relative to /api. */
  readonly path: string
  readonly filter?: Readonly<Record<string, string | undefined>>
  /** If the page has several. */
  readonly label?: string
}

export function CsvLink({ path, filter = {}, label }: CsvSource) {
  const t = useMessages('shell')
  return (
    <Button
      component="a"
      href={`/api${path}.csv${queryString(filter)}`}
      download
      variant="default"
      leftSection={<Icon name="download" />}
    >
      {label ?? t.exportCsv}
    </Button>
  )
}
