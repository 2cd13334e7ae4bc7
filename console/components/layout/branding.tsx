/** How the operator presents the service: name and logo, links, legal texts and support contact. */
import { useEffect } from 'react'
import type { Branding } from '../../api/contract.ts'
import { usePlatform } from '../../api/session.ts'
import { useMessages } from '../../locales/messages.ts'

type ShownBranding = NonNullable<ReturnType<typeof usePlatform>>['branding']

function useBranding(): ShownBranding | undefined {
  return usePlatform()?.branding
}

const ownName = 'Sluice'

/** Sets the title and the icon of the browser's tab. */
export function useDocumentTitle(title: string): void {
  const branding = useBranding()
  const name = branding?.name ?? ownName
  const logo = branding?.logo?.url
  useEffect(() => {
    document.title = `${title} · ${name}`
  }, [title, name])
  useEffect(() => {
    const icon = document.querySelector('link[rel="icon"]')
    if (logo === undefined || icon === null) return
    icon.removeAttribute('type')
    icon.setAttribute('href', logo)
  }, [logo])
}

export function Brand() {
  const branding = useBranding()
  if (branding === undefined || (branding.name === null && branding.logo === null)) return <OwnBrand />
  const { name, logo } = branding
  return (
    <span className="brand">
      {logo && (
        <img
          src={logo.url}
          width={logo.width}
          height={logo.height}
          alt={name === null ? window.location.host : ''}
        />
      )}
      {name !== null && <span>{name}</span>}
    </span>
  )
}

function OwnBrand() {
  return (
    <span className="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" />
        <path d="M7 9h18M7 14h18" opacity=".55" />
        <path d="M7 21c3-3 6-3 9 0s6 3 9 0" />
      </svg>
      {ownName}
    </span>
  )
}

function OutsideLink({ url, children }: { readonly url: string; readonly children: string }) {
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}

/** The links below a page; nothing if there are none. */
export function BrandingLinks() {
  const branding = useBranding()
  const { links: t } = useMessages('auth')
  if (branding === undefined) return null
  const { links, terms, privacy } = branding
  const all = [
    ...links,
    ...(terms === null ? [] : [{ label: t.terms, url: terms }]),
    ...(privacy === null ? [] : [{ label: t.privacy, url: privacy }]),
  ]
  if (all.length === 0) return null
  return (
    <ul className="branding-links">
      {all.map(({ label, url }, at) => (
        <li key={`${at} ${url}`}>
          <OutsideLink url={url}>{label}</OutsideLink>
        </li>
      ))}
    </ul>
  )
}

/** Whom to ask; nothing if the operator has not said so. */
export function SupportContact() {
  const support = useBranding()?.support
  const { links: t } = useMessages('auth')
  if (!support) return null
  return (
    <small className="support-contact">
      {t.support}
      {t.colon}
      <OutsideLink url={support.url}>{support.contact}</OutsideLink>
      {support.text !== null && <> {support.text}</>}
    </small>
  )
}

/** What a new user accepts; nothing without terms and privacy policy. */
export function AcceptedTexts() {
  const branding = useBranding()
  const { accepts: t } = useMessages('auth').signUp
  const { terms = null, privacy = null } = branding ?? {}
  if (terms === null && privacy === null) return null
  return (
    <p className="muted">
      {t.before}
      {terms !== null && <OutsideLink url={terms}>{t.terms}</OutsideLink>}
      {terms !== null && privacy !== null && t.and}
      {privacy !== null && <OutsideLink url={privacy}>{t.privacy}</OutsideLink>}
      {t.after}
    </p>
  )
}

const accentStyle = '/branding/colors.css'

/** Loads the style sheet of the accent colours again, which the page has loaded before. */
export function reloadAccentColors(colors: Branding['colors']): void {
  const sheet = document.querySelector(`link[href^="${accentStyle}"]`)
  const version = colors === null ? 'none' : `${colors.light}${colors.dark}`
  sheet?.setAttribute('href', `${accentStyle}?v=${encodeURIComponent(version)}`)
}
