/**
 * The SDK captures the stack of every promise in the sandbox, for its call-stack query: with the usual ten frames that was
 * a quarter of a run's CPU there (measured). One frame still says where an error was thrown.
 */
Error.stackTraceLimit = 1;
