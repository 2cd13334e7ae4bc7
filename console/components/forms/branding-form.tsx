/** The form of the branding. */
import { Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { mutateAdmin } from '../../api/admin-queries.ts'
import type { Branding } from '../../api/contract.ts'
import { queryClient, sessionQuery } from '../../api/session.ts'
import { useMessages } from '../../locales/messages.ts'
import { showToast } from '../feedback/toast.tsx'
import { reloadAccentColors } from '../layout/branding.tsx'
import { changedFields, optionalText, previousFields, undoOf } from './field-values.ts'
import { Form, useDraft } from './fields.tsx'
import { loadLogo, LogoField, type LogoDraft } from './logo-field.tsx'
import { RemoveRowButton, rowChanges, RowGroup } from './row-group.tsx'
import { useAction, useFieldError } from './use-action.ts'

type Links = Branding['links']

const maxLinks = 10

function draftFrom({ name, colors, terms, privacy, support }: Branding) {
  return {
    name: name ?? '',
    light: colors?.light ?? '',
    dark: colors?.dark ?? '',
    terms: terms ?? '',
    privacy: privacy ?? '',
    contact: support?.contact ?? '',
    text: support?.text ?? '',
  }
}

/** Without the logo. */
function bodyFrom(draft: ReturnType<typeof draftFrom>, links: Links) {
  const { light, dark, contact, text } = draft
  const hasColors = light.trim() !== '' || dark.trim() !== ''
  const hasSupport = contact.trim() !== '' || text.trim() !== ''
  return {
    name: optionalText(draft.name),
    colors: hasColors ? { light, dark } : null,
    links,
    terms: optionalText(draft.terms),
    privacy: optionalText(draft.privacy),
    support: hasSupport ? { contact, text: optionalText(text) } : null,
  }
}

interface BrandingFormProps {
  readonly branding: Branding
  readonly close: () => void
}

export function BrandingForm({ branding, close }: BrandingFormProps) {
  const t = useMessages('branding')
  const shell = useMessages('shell')
  const { draft, initialDraft, set, field } = useDraft(draftFrom(branding))
  const [links, setLinks] = useState(branding.links)
  const [logo, setLogo] = useState<LogoDraft>({ data: undefined, url: branding.logo?.url ?? null })
  // The frame around this page shows the change, too.
  const update = async (changes: object): Promise<void> => {
    const { colors } = await mutateAdmin<Branding>('PUT', '/branding', changes)
    reloadAccentColors(colors)
    await queryClient.invalidateQueries(sessionQuery)
  }
  const save = useAction(async () => {
    const before = bodyFrom(initialDraft, branding.links)
    const changes = changedFields(before, bodyFrom(draft, links))
    const earlier = previousFields(before, changes)
    if (logo.data === undefined) {
      await update(changes)
      showToast(shell.saved, { undo: undoOf(changes, () => update(earlier)) })
    } else {
      const earlierLogo = await loadLogo(branding.logo?.url)
      await update({ ...changes, logo: logo.data })
      showToast(shell.saved, { undo: () => update({ ...earlier, logo: earlierLogo }) })
    }
    close()
  })
  const fieldError = useFieldError(save.error)
  const linkParams = links.flatMap((_, at) => [`links[${at}].label`, `links[${at}].url`])
  const inline = ['name', 'logo', 'colors', 'terms', 'privacy', 'support', ...linkParams]
  const area = (name: 'terms' | 'privacy') => (
    <Textarea
      label={t[name]}
      description={t.legalHint}
      rows={4}
      error={fieldError(name)}
      name={name}
      value={draft[name]}
      onChange={(event) => set(name, event.currentTarget.value)}
    />
  )
  return (
    <Form action={save} submitLabel={shell.save} cancel={close} inlineErrors={inline}>
      <TextInput
        label={t.name}
        description={t.nameHint}
        autoComplete="off"
        maxLength={60}
        error={fieldError('name')}
        {...field('name')}
      />
      <LogoField draft={logo} set={setLogo} error={fieldError('logo')} />
      <fieldset className="field-group">
        <legend>{t.colors}</legend>
        <div className="stack">
          <p className="muted">{t.colorsLead}</p>
          <div className="fields two-columns">
            {(['light', 'dark'] as const).map((theme) => (
              <ColorField
                key={theme}
                label={t[`${theme}Color`]}
                error={fieldError(`colors.${theme}`)}
                {...field(theme)}
                setColor={(color) => set(theme, color)}
              />
            ))}
          </div>
        </div>
      </fieldset>
      <LinkFields links={links} set={setLinks} fieldError={fieldError} />
      {area('terms')}
      {area('privacy')}
      <div className="fields two-columns">
        <TextInput
          label={t.contact}
          description={t.contactHint}
          autoComplete="off"
          error={fieldError('support.contact')}
          {...field('contact')}
        />
        <TextInput
          label={t.supportText}
          description={t.supportTextHint}
          autoComplete="off"
          error={fieldError('support.text')}
          {...field('text')}
        />
      </div>
    </Form>
  )
}

interface ColorFieldProps extends ReturnType<ReturnType<typeof useDraft>['field']> {
  readonly label: string
  readonly error: string | undefined
  readonly setColor: (color: string) => void
}

/** A text, beside which the browser's own colour chooser shows the colour. */
function ColorField({ label, error, setColor, ...text }: ColorFieldProps) {
  const t = useMessages('branding')
  return (
    <TextInput
      label={label}
      placeholder="#rrggbb"
      autoComplete="off"
      error={error}
      {...text}
      rightSection={
        <input
          type="color"
          className="color-input"
          aria-label={t.chooseColor(label)}
          value={/^#[0-9a-f]{6}$/i.test(text.value) ? text.value : '#808080'}
          onChange={(event) => setColor(event.currentTarget.value)}
        />
      }
    />
  )
}

interface LinkFieldsProps {
  readonly links: Links
  readonly set: (links: Links) => void
  readonly fieldError: ReturnType<typeof useFieldError>
}

function LinkFields({ links, set, fieldError }: LinkFieldsProps) {
  const t = useMessages('branding')
  const { change, remove } = rowChanges(links, set)
  return (
    <RowGroup
      legend={t.links}
      addLabel={t.addLink}
      add={() => set([...links, { label: '', url: '' }])}
      canAdd={links.length < maxLinks}
    >
      {links.map(({ label, url }, at) => (
        <div className="link-row" key={at}>
          <TextInput
            label={t.linkLabel}
            required
            error={fieldError(`links[${at}].label`)}
            value={label}
            onChange={(event) => change(at, { label: event.currentTarget.value })}
          />
          <TextInput
            label={t.linkUrl}
            required
            inputMode="url"
            placeholder="https://"
            error={fieldError(`links[${at}].url`)}
            value={url}
            onChange={(event) => change(at, { url: event.currentTarget.value })}
          />
          <RemoveRowButton label={t.removeLink(label)} remove={() => remove(at)} />
        </div>
      ))}
    </RowGroup>
  )
}
