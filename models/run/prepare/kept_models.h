// The file of the best model of a run, rewritten whenever there is a better one:
// <folder>/model-<network>-epoch-<epoch>-<date>.npz, of the date on which the run began. A file
// that another run has written there stays: then the name ends in "-2", "-3", ... A "/" in the name
// of the network becomes "-", and a long name is cut.

#ifndef DTNN_MODELS_RUN_PREPARE_KEPT_MODELS_H_
#define DTNN_MODELS_RUN_PREPARE_KEPT_MODELS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
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
  int64_t date = 0;               // in names
  NamedTexts tags = {};           // of the files, beside those of weights
  Communicator* ranks = nullptr;  // that share the folder: rank 0 writes; null: this one alone
};

// Writes `values`, the parameters of the store as they were after that epoch, then deletes the file
// before it, `previous`: only one of that name in that folder, as a checkpoint may name anything.
// Overwrites no file but `previous`. Returns the path. All ranks that share the folder call it
// together, as each of them may have to write the next one, or to save the run that names it.
absl::StatusOr<std::string> KeepModel(const KeptModels& kept, int64_t epoch, const Graph& graph,
                                      const ParameterStore& store, DeviceContext& context,
                                      const Tensor& values, const std::string& previous);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PREPARE_KEPT_MODELS_H_
