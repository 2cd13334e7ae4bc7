/** Ready-to-paste calls with this deployment's base URL and one of its models. */

export interface SnippetOptions {
  /** Including `/v1`. */
  readonly baseUrl: string
  readonly model: string
  /** The secret right after it was created; null refers to an environment variable instead. */
  readonly secret: string | null
}

export const snippetLanguages = ['curl', 'Python', 'Node.js', 'Go'] as const
export type SnippetLanguage = (typeof snippetLanguages)[number]

const keyVariable = 'SLUICE_KEY'

export function snippetFor(name: SnippetLanguage, { baseUrl, model, secret }: SnippetOptions): string {
  switch (name) {
    case 'curl':
      return `curl ${baseUrl}/chat/completions \\
  -H "Authorization: Bearer ${secret ?? `$${keyVariable}`}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{"role": "user", "content": "Hello!"}]
  }'`
    case 'Python':
      return `${secret === null ? 'import os\n' : ''}from openai import OpenAI

client = OpenAI(
    base_url="${baseUrl}",
    api_key=${secret === null ? `os.environ["${keyVariable}"]` : `"${secret}"`},
)
response = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(response.choices[0].message.content)`
    case 'Node.js':
      return `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: '${baseUrl}',
  apiKey: ${secret === null ? `process.env.${keyVariable}` : `'${secret}'`},
})
const response = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello!' }],
})
console.log(response.choices[0].message.content)`
    case 'Go':
      return `client := openai.NewClient(
	option.WithBaseURL("${baseUrl}"),
	option.WithAPIKey(${secret === null ? `os.Getenv("${keyVariable}")` : `"${secret}"`}),
)
response, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
	Model:    "${model}",
	Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello!")},
})`
  }
}

/** Where common client applications expect the base URL and the key, in the words of their own settings. */
export const clientApps = [
  { name: 'Cherry Studio', settingsPath: 'Settings → Model Provider → OpenAI', wantsVersion: false },
  { name: 'LobeChat', settingsPath: 'Settings → Language Model → OpenAI', wantsVersion: true },
  { name: 'NextChat', settingsPath: 'Settings → Custom Endpoint', wantsVersion: false },
  { name: 'Open WebUI', settingsPath: 'Settings → Connections → OpenAI API', wantsVersion: true },
  { name: 'Cursor', settingsPath: 'Settings → Models → Override OpenAI Base URL', wantsVersion: true },
  { name: 'Continue', settingsPath: 'config.yaml: provider: openai, apiBase', wantsVersion: true },
] as const
