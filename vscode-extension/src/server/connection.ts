// The connection to a server, which may end while something is asked over it.

import type { CancellationToken, MessageSignature } from 'vscode-languageclient';
import { LanguageClient } from 'vscode-languageclient/node';

/**
 * As the library's; what was asked of a server that has ended, or is about to, has no
 * answer, and nobody is told of an error.
 */
export class Connection extends LanguageClient {
  override handleFailedRequest<T>(
    type: MessageSignature,
    token: CancellationToken | undefined,
    error: unknown,
    defaultValue: T,
    showNotification?: boolean,
    throwOnCancel?: boolean,
  ): T {
    if (!this.isRunning()) return defaultValue;
    return super.handleFailedRequest(
      ...([type, token, error, defaultValue, showNotification, throwOnCancel] as const),
    );
  }
}
