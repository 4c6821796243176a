// Weights of PyTorch for a network that has another source: a name, or a model's file.

#ifndef DTNN_APPS_CONVERSION_IMPORT_WEIGHTS_H_
#define DTNN_APPS_CONVERSION_IMPORT_WEIGHTS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/conversion/import_flags.h"
#include "kernels/device/context.h"
#include "models/onnx/import/import.h"
#include "optim/losses/loss.h"
#include "tensor/format.h"

namespace dtnn {

// By the ending of its name.
bool IsWeights(std::string_view path);
// What words of flags mean.
FinalActivation ActivationOf(const std::string& word);
std::optional<ImageExtents> SampleOf(const ImportFlags& flags);

// Those in flags.in, for flags.model. Notes list what did not match.
absl::StatusOr<ImportedModel> ImportWeights(const ImportFlags& flags, DeviceContext& host);

}  // namespace dtnn

#endif  // DTNN_APPS_CONVERSION_IMPORT_WEIGHTS_H_
