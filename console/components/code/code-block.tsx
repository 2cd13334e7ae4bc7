/** Code with a copy button, and snippets in several languages. */
import { useState, type ReactNode } from 'react'
import { useMessages } from '../../locales/messages.ts'
import { CopyButton } from '../tables/format-cells.tsx'
import { snippetLanguages, snippetFor, type SnippetLanguage, type SnippetOptions } from './snippets.ts'

export function CodeBlock({ text, header }: { readonly text: string; readonly header?: ReactNode }) {
  const t = useMessages('shell')
  return (
    <div className="code">
      <div className="row">
        {header ?? <span />}
        <CopyButton text={text}>{t.copy}</CopyButton>
      </div>
      {/* A scrollable region must be reachable by keyboard. */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  )
}

const storageName = 'sluice.snippet'

function savedLanguage(): SnippetLanguage {
  const saved = localStorage.getItem(storageName)
  return snippetLanguages.find((name) => name === saved) ?? 'curl'
}

export function CodeSnippets(terms: SnippetOptions) {
  const [name, setName] = useState<SnippetLanguage>(savedLanguage)
  const select = (next: SnippetLanguage): void => {
    localStorage.setItem(storageName, next)
    setName(next)
  }
  const tabs = (
    <div className="tabs">
      {snippetLanguages.map((item) => (
        <button key={item} type="button" aria-pressed={item === name} onClick={() => select(item)}>
          {item}
        </button>
      ))}
    </div>
  )
  return <CodeBlock text={snippetFor(name, terms)} header={tabs} />
}
