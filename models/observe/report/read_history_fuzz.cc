// Feeds arbitrary text to the reader of histories: it must answer, and a page can be made of what
// it gives. The first byte chooses the format.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "models/observe/report/comparison.h"
#include "models/observe/report/read_history.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto form = data[0] % 2 == 0 ? dtnn::HistoryForm::kCsv : dtnn::HistoryForm::kJsonLines;
  const auto run =
      dtnn::ParseHistory({reinterpret_cast<const char*>(data) + 1, size - 1}, form, "input");
  if (!run.ok()) return 0;
  if (run->epochs.empty()) std::abort();
  const std::string page =
      dtnn::FormatComparison({{.name = "input", .epochs = run->epochs, .test = run->test}});
  if (page.find("<script") != page.npos || page.find("=\"nan") != page.npos) std::abort();
  return 0;
}
