// Feeds arbitrary bytes to the readers of TFRecord files and of the Examples in them: they must
// answer, end, and give no more than went in.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "data/formats/tf_example.h"
#include "data/formats/tf_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Checksums are hard to guess, so the Example is also fed directly.
  (void)dtnn::ParseImageExample({data, size}, "input");
  dtnn::TfRecordReader reader(dtnn::MemorySource({data, size}), "input");
  std::vector<uint8_t> record;
  for (size_t given = 0;;) {
    const absl::StatusOr<bool> more = reader.Next(record);
    if (!more.ok() || !*more) return 0;
    given += record.size();
    if (given > size) std::abort();
    (void)dtnn::ParseImageExample(record, reader.Place());
  }
}
