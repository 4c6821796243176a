// Any bytes as an .npy file: a tensor that survives being written and read again, or a Status.

#include <cstdlib>
#include <cstring>

#include "tensor/files/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const absl::StatusOr<dtnn::Tensor> tensor = dtnn::ParseNpy(bytes, "input");
  if (!tensor.ok()) return 0;
  const auto written = dtnn::SerializeNpy(*tensor);
  const auto again = written.ok() ? dtnn::ParseNpy(*written, "written") : written.status();
  const bool same =
      again.ok() && again->dtype() == tensor->dtype() && again->shape() == tensor->shape() &&
      std::memcmp(again->raw_data(), tensor->raw_data(), tensor->buffer()->size()) == 0;
  if (!same) std::abort();
  return 0;
}
