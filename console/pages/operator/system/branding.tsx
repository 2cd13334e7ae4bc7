/** The branding: how customers see the service. */
import { Button } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../../../api/client.ts'
import type { Branding } from '../../../api/contract.ts'
import { QueryResult } from '../../../components/feedback/query-boundary.tsx'
import { BrandingForm } from '../../../components/forms/branding-form.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { LogoPreview } from '../../../components/forms/logo-field.tsx'
import { DescriptionList, Page } from '../../../components/layout/page.tsx'
import { useMessages } from '../../../locales/messages.ts'

const route = getRouteApi('/shell/operator/branding')

const brandingQuery = queryOptions({
  queryKey: ['admin', 'branding'],
  queryFn: () => get<Branding>('/admin/branding'),
})

export function BrandingPage() {
  const t = useMessages('branding')
  const shell = useMessages('shell')
  const navigate = route.useNavigate()
  const { edit } = route.useSearch()
  const query = useQuery(brandingQuery)
  const close = (): void => void navigate({ search: {} })
  const button = <Button onClick={() => void navigate({ search: { edit: 'yes' } })}>{shell.edit}</Button>
  return (
    <Page title={t.title} lead={t.lead} actions={button}>
      <QueryResult query={query}>
        {(branding) => (
          <>
            <CurrentBranding branding={branding} />
            <Dialog title={t.edit} opened={edit !== undefined} close={close} size="42rem">
              <BrandingForm branding={branding} close={close} />
            </Dialog>
          </>
        )}
      </QueryResult>
    </Page>
  )
}

function Swatch({ color }: { readonly color: string }) {
  return (
    <span className="swatch">
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <rect width="16" height="16" rx="4" fill={color} />
      </svg>
      <code>{color}</code>
    </span>
  )
}

function LegalText({ text, page }: { readonly text: string | null; readonly page: string }) {
  const t = useMessages('branding')
  if (text === null) return t.notSet
  const isLink = /^https:\/\/\S+$/.test(text)
  return (
    <a href={isLink ? text : page} target="_blank" rel="noopener noreferrer">
      {isLink ? text : t.ownPage(page)}
    </a>
  )
}

function CurrentBranding({ branding }: { readonly branding: Branding }) {
  const t = useMessages('branding')
  const { name, logo, colors, links, terms, privacy, support } = branding
  return (
    <DescriptionList
      items={[
        [t.name, name ?? t.notSet],
        [t.logo, logo === null ? t.notSet : <LogoPreview key="logo" url={logo.url} />],
        [t.lightColor, colors === null ? t.notSet : <Swatch key="light" color={colors.light} />],
        [t.darkColor, colors === null ? t.notSet : <Swatch key="dark" color={colors.dark} />],
        [
          t.links,
          links.length === 0
            ? t.notSet
            : links.map(({ label, url }, at) => (
                <div key={`${at} ${url}`}>
                  <a href={url} target="_blank" rel="noopener noreferrer">
                    {label}
                  </a>
                </div>
              )),
        ],
        [t.terms, <LegalText key="terms" text={terms} page="/terms" />],
        [t.privacy, <LegalText key="privacy" text={privacy} page="/privacy" />],
        [
          t.contact,
          support === null ? t.notSet : [support.contact, support.text].filter(Boolean).join(' · '),
        ],
      ]}
    />
  )
}
