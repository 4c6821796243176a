// Feeds arbitrary text to the reader of divisions: it must answer, and give each sample once.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "data/loading/division/division_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kSamples = 20, kParts = 3;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto divided = dtnn::ParseDivisionFile(text, "input", kSamples, kParts);
  if (!divided.ok()) return 0;
  if (divided->size() != kParts) std::abort();
  std::set<int64_t> seen;
  for (const auto& part : *divided) {
    for (const int64_t sample : part) {
      if (sample < 0 || sample >= kSamples || !seen.insert(sample).second) std::abort();
    }
  }
  return 0;
}
