// Makes a saved model of an ONNX file, or of weights of PyTorch.

#ifndef DTNN_APPS_CONVERSION_IMPORT_MODEL_H_
#define DTNN_APPS_CONVERSION_IMPORT_MODEL_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/conversion/import_flags.h"

namespace dtnn {

// Reads flags.in, an ONNX model or weights of PyTorch by the ending of its name, and writes
// flags.out. Says in `out` what it did.
absl::Status ImportModelFile(const ImportFlags& flags, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_CONVERSION_IMPORT_MODEL_H_
