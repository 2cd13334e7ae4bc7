/** The console starts here: styles, the words of the language in use, and the pages (routes.tsx). */
import './styles/stylesheets.ts'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { language, wordsOf } from './language.ts'
import { router } from './routes.tsx'
import { useScheme } from './styles/color-scheme.ts'
import { queries } from './api/session.ts'
import { theme } from './styles/theme.ts'

function Console() {
  const scheme = useScheme()
  return (
    <MantineProvider
      theme={theme}
      forceColorScheme={scheme}
      withCssVariables={false}
      withGlobalClasses={false}
      withStaticClasses={false}
    >
      <QueryClientProvider client={queries}>
        <Suspense>
          <RouterProvider router={router} />
        </Suspense>
      </QueryClientProvider>
    </MantineProvider>
  )
}

// After an upgrade the parts of an open page are gone under their old names: it starts over, once.
window.addEventListener('vite:preloadError', (event) => {
  const last = Number(sessionStorage.getItem('sluice.reloaded') ?? 0)
  if (Date.now() - last < 60_000) return
  sessionStorage.setItem('sluice.reloaded', String(Date.now()))
  event.preventDefault()
  window.location.reload()
})

await wordsOf(language(), 'door')
const root = document.getElementById('root')
if (root === null) throw new Error('The page has no place for the console.')
createRoot(root).render(
  <StrictMode>
    <Console />
  </StrictMode>,
)
