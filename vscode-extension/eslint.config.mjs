import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.cache/'] },
  {
    files: ['src/**/*.ts', 'webviews/**/*.ts', 'tests/**/*.ts', 'tests/**/*.mts'],
    extends: [
      js.configs.recommended,
      ...tseslint.configs.strictTypeChecked,
      ...tseslint.configs.stylisticTypeChecked,
    ],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      eqeqeq: 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    },
  },
  {
    files: ['src/**/*.ts', 'webviews/**/*.ts'],
    rules: {
      // The order of things is that of answers and events, never that of time.
      'no-restricted-globals': ['error', 'setTimeout', 'setInterval'],
    },
  },
);
