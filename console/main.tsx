/** The entry point: styles, messages of the current language, and the router (routes.tsx). */
import './styles/stylesheets.ts'
import { MantineProvider, mergeThemeOverrides } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode, Suspense, useMemo } from 'react'
import { createRoot } from 'react-dom/client'
import { currentLanguage, loadMessages, useMessages } from './locales/messages.ts'
import { router } from './routes.tsx'
import { useColorScheme } from './styles/color-scheme.ts'
import { queryClient } from './api/session.ts'
import { theme } from './styles/theme.ts'

/** The theme with the label of the button in password fields, which Mantine knows in English only. */
function useLocalizedTheme() {
  const label = useMessages('auth').passwordVisibility
  return useMemo(() => {
    const defaultProps = { size: 'xs', visibilityToggleButtonProps: { 'aria-label': label } }
    return mergeThemeOverrides(theme, { components: { PasswordInput: { defaultProps } } })
  }, [label])
}

function Console() {
  const scheme = useColorScheme()
  const localizedTheme = useLocalizedTheme()
  return (
    <MantineProvider
      theme={localizedTheme}
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
