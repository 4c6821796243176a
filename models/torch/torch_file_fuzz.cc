// Any bytes as a file of torch.save, and as the pickle in one: tensors, or a Status.

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "models/torch/pickle.h"
#include "models/torch/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto pickled = dtnn::ReadPickle(bytes);
  if (pickled.ok() && pickled->empty()) std::abort();
  const auto read = dtnn::ParseTorchFile(std::as_bytes(std::span(bytes)), "input.pth");
  if (!read.ok() && read.status().message().substr(0, 11) != "input.pth: ") std::abort();
  return 0;
}
