#include "apps/launcher/run_memory.h"

#include <string>

#include "apps/make/make_trainer_options.h"
#include "apps/printing/memory_table.h"
#include "models/graph/table.h"
#include "models/plan/plan.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

double RunMemory::all() const {
  return parameters + double(training ? training->total() : 0) +
         double(testing ? testing->total() : 0);
}

absl::StatusOr<RunMemory> MeasureMemory(const Options& options, const Graph& graph,
                                        const Loss& loss, const Optimizer* optimizer,
                                        DeviceContext& context, const RunBatches& batches,
                                        BestOf* best_of) {
  const DType dtype = ElementTypeOf(options);
  const std::string variant(ConvVariantOf(options));
  RunMemory memory = {.batches = batches, .parameters = ParameterBytes(graph, dtype, optimizer)};
  if (batches.training > 0) {
    DTNN_ASSIGN_OR_RETURN(memory.training, Plan::Measure(graph, dtype, context,
                                                         {.batch = batches.training,
                                                          .training = true,
                                                          .loss = &loss,
                                                          .conv_variant = variant,
                                                          .best_of = best_of}));
  }
  if (batches.testing > 0) {
    DTNN_ASSIGN_OR_RETURN(memory.testing, Plan::Measure(graph, dtype, context,
                                                        {.batch = batches.testing,
                                                         .loss = &loss,
                                                         .conv_variant = variant,
                                                         .best_of = best_of,
                                                         .fusions = MakeFusions(options)}));
  }
  return memory;
}

absl::Status CheckMemory(const RunMemory& memory, const AvailableMemory& available, int ranks) {
  const double needed = memory.all() * ranks;
  if (needed <= double(available.bytes)) return absl::OkStatus();
  const bool trains = memory.training.has_value();
  std::string text =
      StrCat(trains ? "training on" : "testing in", " batches of ",
             Counted(trains ? memory.batches.training : memory.batches.testing, "sample"),
             " takes ", FormatBytes(memory.all()), " of memory (",
             trains ? "parameters, gradients and optimizer " : "parameters ",
             FormatBytes(memory.parameters));
  if (trains) {
    StrAppend(&text, ", activations and workspace ", FormatBytes(double(memory.training->total())));
  }
  if (memory.testing) {
    StrAppend(&text, trains ? ", the same for testing " : ", activations and workspace ",
              FormatBytes(double(memory.testing->total())));
  }
  text += ")";
  if (ranks > 1) {
    StrAppend(&text, " on each of ", ranks, " ranks of this host, ", FormatBytes(needed),
              " on all");
  }
  StrAppend(&text, ", but ", available.of, " has ", FormatBytes(double(available.bytes)),
            " left; a smaller --batch-size takes less",
            trains ? " (--accumulate-steps makes up for it)" : "",
            ", --dry-run shows more, --force runs anyway");
  return absl::ResourceExhaustedError(text);
}

}  // namespace dtnn
