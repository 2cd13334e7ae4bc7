/** The entry point: styles, messages of the current language, and the router (routes.tsx). */
import './styles/stylesheets.ts'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { currentLanguage, loadMessages } from './locales/messages.ts'
import { router } from './routes.tsx'
import { useColorScheme } from './styles/color-scheme.ts'
import { queryClient } from './api/session.ts'
import { theme } from './styles/theme.ts'

function Console() {
  const scheme = useColorScheme()
  return (
    <MantineProvider
      theme={theme}
      forceColorScheme={scheme}
      withCssVariables={false}
      withGlobalClasses={false}
      withStaticClasses={false}
    >
      <QueryClientProvider client={queryClient}>
        <Suspense>
          <RouterProvider router={router} />
        </Suspense>
      </QueryClientProvider>
    </MantineProvider>
  )
}

await loadMessages(currentLanguage(), 'auth')
const root = document.getElementById('root')
if (root === null) throw new Error('Element #root not found.')
createRoot(root).render(
  <StrictMode>
    <Console />
  </StrictMode>,
)
