// Feeds arbitrary bytes to the IDX reader: it must answer, not crash, and not allocate what it
// cannot fill.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "data/formats/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kMaxBytes = uint64_t{1} << 22;
  const absl::StatusOr<dtnn::Tensor> array =
      dtnn::ParseIdx(dtnn::MemorySource({data, size}), "input", kMaxBytes);
  if (!array.ok()) return 0;
  const uint64_t elements = uint64_t(array->num_elements());
  if (elements > kMaxBytes || array->shape().rank() < 1 || array->shape().rank() > 4) std::abort();
  // Every byte was written: under a sanitizer this reads them all.
  uint8_t all = 0;
  for (uint64_t i = 0; i < elements; ++i) all |= array->data<uint8_t>()[i];
  volatile uint8_t used = all;
  (void)used;
  return 0;
}
