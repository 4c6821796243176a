// Files of weights as PyTorch writes them: .pth and .pt (torch.save: a zip archive with a pickle,
// see pickle.h, and the bytes of tensors), and .safetensors.

#ifndef DTNN_MODELS_TORCH_TORCH_FILE_H_
#define DTNN_MODELS_TORCH_TORCH_FILE_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "tensor/files/named_tensors.h"

namespace dtnn {

// Whether the name is one of torch.save: it ends in .pth, .pt or .bin.
bool IsTorchFileName(std::string_view path);

// All arrays, as float32 on the host; without those of whole numbers, which count batches, and
// those without elements, whose extents mean nothing. Of a model that was saved by DataParallel,
// names lose their "module.". InvalidArgument for a file that holds anything but tensors, and for
// sizes that its bytes do not have; errors name the file.
absl::StatusOr<NamedTensors> ReadTorchFile(std::string_view path);
// The same of a zip archive in memory.
absl::StatusOr<NamedTensors> ParseTorchFile(std::span<const std::byte> bytes,
                                            std::string_view name);

}  // namespace dtnn

#endif  // DTNN_MODELS_TORCH_TORCH_FILE_H_
