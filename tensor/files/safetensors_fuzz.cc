// Any bytes as a .safetensors file: every tensor that it names is a tensor or a Status, and none
// takes more memory than the file's size justifies.

#include <cstdlib>

#include "tensor/files/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto reader = dtnn::SafetensorsReader::Parse(std::as_bytes(std::span(data, size)), "input");
  if (!reader.ok()) return 0;
  size_t total = 0;
  for (const std::string& name : reader->names()) {
    const absl::StatusOr<dtnn::Tensor> tensor = reader->Read(name);
    if (!reader->Contains(name) || absl::IsNotFound(tensor.status())) std::abort();
    if (tensor.ok()) total += size_t(tensor->num_elements()) * SizeOf(tensor->dtype());
  }
  // Elements of 8 bits become four times as large when they are read.
  if (total > 4 * size) std::abort();
  return 0;
}
