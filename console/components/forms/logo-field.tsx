/** The field for the logo: a file of the user's, with its preview on light and dark. */
import { Button, InputWrapper } from '@mantine/core'
import { useId, useRef, useState } from 'react'
import { useMessages } from '../../locales/messages.ts'
import { base64Of, readDataUrl } from './file-content.ts'

/** On both backgrounds, since logos are often made for one. */
export function LogoPreview({ url }: { readonly url: string }) {
  const t = useMessages('branding')
  return (
    <span className="logo-preview">
      <img src={url} alt={t.logoOnLight} />
      <img src={url} alt={t.logoOnDark} className="dark" />
    </span>
  )
}

/** The content of a stored logo, to undo its replacement; null: there is none. */
export async function loadLogo(url: string | undefined): Promise<string | null> {
  if (url === undefined) return null
  return base64Of(await readDataUrl(await (await fetch(url)).blob()))
}

const maxBytes = 256 * 1024

/** `data`: base64; undefined: as stored; null: removed. */
export interface LogoDraft {
  readonly data: string | null | undefined
  /** Of the preview. */
  readonly url: string | null
}

export interface LogoFieldProps {
  readonly draft: LogoDraft
  readonly set: (draft: LogoDraft) => void
  readonly error: string | undefined
}

export function LogoField({ draft, set, error }: LogoFieldProps) {
  const t = useMessages('branding')
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [isTooLarge, setTooLarge] = useState(false)
  const choose = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return
    setTooLarge(file.size > maxBytes)
    if (file.size > maxBytes) return
    const url = await readDataUrl(file)
    set({ url, data: base64Of(url) })
  }
  return (
    <InputWrapper
      label={t.logo}
      labelProps={{ htmlFor: id }}
      description={t.logoHint}
      error={isTooLarge ? t.logoTooLarge : error}
      size="xs"
    >
      <div className="row logo-row">
        {draft.url !== null && <LogoPreview url={draft.url} />}
        <input
          ref={input}
          id={id}
          className="file-input"
          type="file"
          name="logo"
          accept="image/png,image/jpeg,image/webp"
          onChange={(event) => void choose(event.currentTarget.files?.[0])}
        />
        {draft.url !== null && (
          <Button
            variant="default"
            onClick={() => {
              if (input.current) input.current.value = ''
              setTooLarge(false)
              set({ url: null, data: null })
            }}
          >
            {t.removeLogo}
          </Button>
        )}
      </div>
    </InputWrapper>
  )
}
