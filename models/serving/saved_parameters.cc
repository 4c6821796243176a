#include "models/serving/saved_parameters.h"

#include <cstdint>
#include <utility>

#include "models/parameters/parameter_arrays.h"
#include "tensor/errors.h"
#include "tensor/machine/available_memory.h"

namespace dtnn {
namespace {

absl::Status CheckMemory(const ArrayFileReader& file, const SavedModel& model,
                         DeviceContext& context, const PlanOptions* options) {
  const Graph& graph = model.graph;
  // Loading keeps what it reads beside what it replaces.
  double needed = 2 * double(ParameterStore::Measure(graph, model.dtype).values);
  if (options != nullptr) {
    DTNN_ASSIGN_OR_RETURN(
        const PlanMemory plan,
        WithContext(Plan::Measure(graph, model.dtype, context, *options), file.file()));
    needed += double(plan.total());
  }
  const AvailableMemory available = FindAvailableMemory();
  if (needed <= double(available.bytes)) return absl::OkStatus();
  return ResourceExhausted(
      file.file(), ": model ", graph.name(), " needs ", int64_t(needed / 1e6), " MB",
      options == nullptr ? std::string() : StrCat(" for batches of ", options->batch, " samples"),
      ", but ", available.of, " has ", int64_t(double(available.bytes) / 1e6), " MB left");
}

}  // namespace

// No array is smaller: a parameter takes as many bytes in a file as it has elements, or more.
absl::Status CheckHoldsParameters(const ArrayFileReader& file, const Graph& graph) {
  for (const ParameterArray& array : ParameterArrays(graph, {})) {
    const Shape& shape = array.spec(graph).shape;
    if (!file.Contains(array.key)) {
      return NotFound(file.file(), ": has no \"", array.key, "\", which model ", graph.name(),
                      " needs");
    }
    if (file.Bytes(array.key) >= shape.NumElements()) continue;
    return InvalidArgument(file.file(), ": \"", array.key, "\" has ", file.Bytes(array.key),
                           " bytes, too few for the ", shape.ToString(), " of model ",
                           graph.name());
  }
  return absl::OkStatus();
}

absl::StatusOr<SavedParameters> ReadParameters(ArrayFileReader& file, const SavedModel& model,
                                               DeviceContext& context,
                                               const SavedParametersOptions& options) {
  DTNN_RETURN_IF_ERROR(CheckHoldsParameters(file, model.graph));
  DTNN_RETURN_IF_ERROR(CheckMemory(file, model, context, options.plan));
  SavedParameters read;
  DTNN_ASSIGN_OR_RETURN(read.store,
                        ParameterStore::Create(model.graph, context, model.dtype, /*seed=*/0));
  DTNN_ASSIGN_OR_RETURN(
      const StagedWeights staged,
      StagedWeights::Read(file, model.graph, *read.store, context, {.format = options.format}));
  DTNN_RETURN_IF_ERROR(staged.Apply(*read.store, context));
  read.warnings = staged.loaded().warnings;
  return read;
}

}  // namespace dtnn
