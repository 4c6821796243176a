// Feeds arbitrary text to the reader of tables: it must answer, end, and give no more than went in.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "data/formats/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dtnn::CsvReader reader({reinterpret_cast<const char*>(data), size}, "input");
  std::vector<std::string> fields;
  size_t given = 0;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next(fields);
    if (!more.ok() || !*more) return 0;
    if (fields.empty()) std::abort();
    for (const std::string& field : fields) given += field.size();
    if (given > size) std::abort();
  }
}
