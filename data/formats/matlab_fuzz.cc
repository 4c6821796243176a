// Feeds arbitrary bytes to the reader of MATLAB files: it must answer and not crash.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "data/formats/matlab.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kFields[] = {"ILSVRC2012_ID", "WNID", "words"};
  const auto rows = dtnn::ReadMatlabStructs({data, size}, "input", "synsets", kFields);
  if (!rows.ok()) return 0;
  for (const auto& row : *rows) {
    if (row.size() != 3) std::abort();
  }
  return 0;
}
