/** Prints the page, or downloads it as PDF in the language of the page. */
import { Button } from '@mantine/core'
import { queryString } from '../../api/client.ts'
import { useLanguage, useMessages } from '../../locales/messages.ts'
import { Icon } from './icon.tsx'

/** `pdf`: the path of the file, relative to /api. */
export function PrintButtons({ pdf }: { readonly pdf: string }) {
  const t = useMessages('invoices').receipt
  const language = useLanguage()
  return (
    <>
      <Button
        component="a"
        href={`/api${pdf}${queryString({ language })}`}
        download
        variant="default"
        leftSection={<Icon name="download" />}
      >
        {t.pdf}
      </Button>
      <Button variant="default" onClick={() => window.print()}>
        {t.print}
      </Button>
    </>
  )
}
