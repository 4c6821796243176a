// Any bytes as an .npz file: every array that the archive names is a tensor, a text or a Status.

#include <cstdlib>

#include "tensor/files/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMaxBytes = 1 << 22;
  auto reader = dtnn::NpzReader::Parse(std::as_bytes(std::span(data, size)), "input", kMaxBytes);
  if (!reader.ok()) return 0;
  int64_t total = 0;
  for (const std::string& name : reader->names()) {
    const absl::StatusOr<dtnn::Tensor> tensor = reader->Read(name);
    if (!reader->Contains(name) || absl::IsNotFound(tensor.status())) std::abort();
    if (tensor.ok()) total += int64_t(tensor->buffer()->size());
    const absl::StatusOr<std::string> text = reader->ReadText(name);
    if (text.ok() && (tensor.ok() || text->size() > size_t{kMaxBytes})) std::abort();
  }
  // int16 elements double when they become int32.
  if (total > 4 * kMaxBytes) std::abort();
  return 0;
}
