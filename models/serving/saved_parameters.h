// The parameters of a model in a file (saved_model.h), read into memory.
//
// Files are not trusted: a few bytes can describe a network of any size. So the sizes of the
// network are compared with what the file contains, and with the free memory, before memory is
// allocated: NotFound for a parameter that is not in the file, InvalidArgument for one that has too
// few bytes there, ResourceExhausted. Messages name the file and the parameter.

#ifndef DTNN_MODELS_SERVING_SAVED_PARAMETERS_H_
#define DTNN_MODELS_SERVING_SAVED_PARAMETERS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/parameters/weights.h"
#include "models/plan/plan.h"
#include "models/serving/saved_model.h"
#include "tensor/files/array_file.h"

namespace dtnn {

struct SavedParametersOptions {
  WeightsFormat format = WeightsFormat::kAuto;  // of a file that does not tell
  const PlanOptions* plan = nullptr;  // that the caller will compile, whose memory counts too
};

struct SavedParameters {
  std::unique_ptr<ParameterStore> store;
  std::vector<std::string> warnings = {};  // about the file, a line each, naming it
};

// The comparison with the file alone, for a caller that only takes the network from it.
absl::Status CheckHoldsParameters(const ArrayFileReader& file, const Graph& graph);

absl::StatusOr<SavedParameters> ReadParameters(ArrayFileReader& file, const SavedModel& model,
                                               DeviceContext& context,
                                               const SavedParametersOptions& options = {});

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_SAVED_PARAMETERS_H_
