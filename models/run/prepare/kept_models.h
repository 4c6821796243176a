// The file of the best model of a run, rewritten whenever there is a better one:
// <folder>/model-<network>-epoch-<epoch>-<date>.npz, of the date on which the run began. A file
// that another run has written there stays: then the name ends in "-2", "-3", ...

#ifndef DTNN_MODELS_RUN_PREPARE_KEPT_MODELS_H_
#define DTNN_MODELS_RUN_PREPARE_KEPT_MODELS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "tensor/files/named_tensors.h"
#include "tensor/tensor.h"

namespace dtnn {

// schedule.model_folder: makes it where there is none, and sees that files can be written there.
// That must show before the first epoch, not after it.
absl::Status MakeModelFolder(const std::string& folder);

// The local date, as 20261231.
int64_t Today();

struct KeptModels {
  std::string folder;
  int64_t date = 0;      // in names; where ranks share the folder, the same on all
  bool writes = true;    // false: another rank does, and this one only learns the names
  NamedTexts tags = {};  // of the files, beside those of weights
};

// Writes `values`, the parameters of the store as they were after that epoch, then deletes the file
// before it, `previous`: only one of that name in that folder, as a checkpoint may name anything.
// Overwrites no file but `previous`. Returns the path; a rank that does not write, the one without
// a number.
absl::StatusOr<std::string> KeepModel(const KeptModels& kept, int64_t epoch, const Graph& graph,
                                      const ParameterStore& store, DeviceContext& context,
                                      const Tensor& values, const std::string& previous);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PREPARE_KEPT_MODELS_H_
