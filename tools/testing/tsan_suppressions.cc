// What the thread sanitizer shall not report, in every test that it runs.

// Debian's Abseil is not instrumented: the sanitizer sees the thread that fills the table of error
// texts, and not the guard of the static variable by which the next one knows that it is filled.
extern "C" const char* __tsan_default_suppressions() { return "race:base_internal::StrError\n"; }
