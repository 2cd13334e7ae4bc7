/** Code to copy, in one of several languages. */
import { useState, type ReactNode } from 'react'
import { useWords } from '../language.ts'
import { Copyable } from '../components/tables/format-cells.tsx'
import { snippetNames, snippetOf, type SnippetName, type SnippetTerms } from '../components/code/snippets.ts'

export function Code({ text, head }: { readonly text: string; readonly head?: ReactNode }) {
  const words = useWords('shell')
  return (
    <div className="code">
      <div className="row">
        {head ?? <span />}
        <Copyable text={text}>{words.copy}</Copyable>
      </div>
      {/* A region that scrolls has to be reached by the keyboard. */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  )
}

const storageName = 'sluice.snippet'

function keptName(): SnippetName {
  const kept = localStorage.getItem(storageName)
  return snippetNames.find((name) => name === kept) ?? 'curl'
}

export function Snippets(terms: SnippetTerms) {
  const [name, setName] = useState<SnippetName>(keptName)
  const choose = (next: SnippetName): void => {
    localStorage.setItem(storageName, next)
    setName(next)
  }
  const tabs = (
    <div className="tabs">
      {snippetNames.map((each) => (
        <button key={each} type="button" aria-pressed={each === name} onClick={() => choose(each)}>
          {each}
        </button>
      ))}
    </div>
  )
  return <Code text={snippetOf(name, terms)} head={tabs} />
}
