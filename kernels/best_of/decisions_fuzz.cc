// Any bytes as a file of decisions: a table that survives being written and read again, or a
// Status.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kernels/best_of/decisions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto decisions = dtnn::Decisions::Parse(text, "input");
  if (!decisions.ok()) return 0;
  const auto again = dtnn::Decisions::Parse(decisions->ToString(), "written");
  if (!again.ok() || again->ToString() != decisions->ToString()) std::abort();
  return 0;
}
