/** The customer's manual, with this deployment's own addresses and one of its models filled in. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useWords } from '../language.ts'
import { overviewQuery } from '../api/account-queries.ts'
import { Code, Snippets } from '../parts/code.tsx'
import { Page, Section } from '../components/layout/page.tsx'
import { Copyable } from '../components/tables/format-cells.tsx'
import { applications } from '../components/code/snippets.ts'
import { Table } from '../components/tables/table.tsx'
import { useSession } from '../api/session.ts'

const parts = ['first', 'stream', 'errors', 'retries', 'limits', 'prices', 'safety', 'apps'] as const

export function Guide() {
  const words = useWords('guide')
  const { platform } = useSession()
  const model = useQuery(overviewQuery).data?.example_model ?? words.anyModel
  const [baseUrl = ''] = platform.base_urls
  return (
    <Page title={words.title} lead={words.lead}>
      <nav className="row" aria-label={words.contents}>
        {parts.map((part) => (
          <a key={part} href={`#${part}`} className="tag">
            {words[part].title}
          </a>
        ))}
      </nav>
      <div className="prose">
        <Part part="first">
          <div className="row">
            {platform.base_urls.map((url) => (
              <Copyable key={url} text={url} />
            ))}
          </div>
          <Snippets baseUrl={baseUrl} model={model} secret={null} />
        </Part>
        <Part part="stream">
          <Code text={streamCode(baseUrl, model)} />
        </Part>
        <Part part="errors">
          <Errors />
        </Part>
        <Part part="retries" />
        <Part part="limits" />
        <Part part="prices">
          <Code text={`curl ${baseUrl}/balance -H "Authorization: Bearer $SLUICE_KEY"`} />
        </Part>
        <Part part="safety" />
        <Part part="apps">
          <Table
            label={words.apps.title}
            rows={applications}
            idOf={({ name }) => name}
            columns={[
              { head: words.apps.app, names: true, cell: ({ name }) => name },
              { head: words.apps.where, cell: ({ way }) => <span lang="en">{way}</span> },
              {
                head: words.apps.address,
                cell: ({ wantsVersion }) => (
                  <Copyable text={wantsVersion ? baseUrl : baseUrl.replace(/\/v1$/, '')} />
                ),
              },
            ]}
          />
        </Part>
      </div>
    </Page>
  )
}

interface PartProps {
  readonly part: (typeof parts)[number]
  readonly children?: ReactNode
}

function Part({ part, children }: PartProps) {
  const { title, text } = useWords('guide')[part]
  return (
    <div id={part}>
      <Section title={title}>
        {text.map((paragraph) => (
          <p key={paragraph}>{paragraph}</p>
        ))}
        {children}
      </Section>
    </div>
  )
}

function Errors() {
  const { errors } = useWords('guide')
  return (
    <Table
      label={errors.title}
      rows={errors.table}
      idOf={({ code }) => code}
      columns={[
        { head: errors.status, figures: true, cell: ({ status }) => status },
        { head: errors.code, names: true, cell: ({ code }) => <code>{code}</code> },
        { head: errors.meaning, cell: ({ meaning }) => meaning },
        { head: errors.whatToDo, cell: ({ whatToDo }) => whatToDo },
      ]}
    />
  )
}

function streamCode(baseUrl: string, model: string): string {
  return `curl -N ${baseUrl}/chat/completions \\
  -H "Authorization: Bearer $SLUICE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "stream": true,
    "stream_options": {"include_usage": true},
    "messages": [{"role": "user", "content": "Hello!"}]
  }'`
}
