#include "apps/dry_run.h"

#include <memory>
#include <optional>

#include "absl/strings/str_format.h"
#include "apps/make_dataset.h"
#include "apps/make_training.h"
#include "apps/memory_table.h"
#include "apps/run_memory.h"
#include "kernels/context.h"
#include "models/table.h"
#include "models/zoo/zoo.h"
#include "tensor/counted.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::Status DryRun(const Options& options, std::ostream& out) {
  const DType dtype = ElementTypeOf(options);
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<DeviceContext> context,
                        DeviceContext::Create(Device::Cpu()));
  DTNN_ASSIGN_OR_RETURN(const Figures figures, MakeFigures(options));
  DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<const Optimizer> optimizer, MakeOptimizer(options));
  DTNN_ASSIGN_OR_RETURN(const int64_t batch, BatchSizePerRank(options));
  ModelOptions model{.format = FormatOf(options),
                     .final_activation = figures.loss->final_activation()};
  if (const std::optional<DatasetSize> size = KnownSize(options)) {
    model.sample = size->sample;
    model.classes = size->outputs;
  }
  DTNN_ASSIGN_OR_RETURN(const Graph graph, BuildModel(options.model, model));
  const bool trains = !options.evaluate_only;
  const bool tests =
      !trains || options.evaluate || options.test_as_validation || options.validation_split > 0;
  DTNN_ASSIGN_OR_RETURN(
      const RunMemory memory,
      MeasureMemory(options, graph, *figures.loss, trains ? optimizer.get() : nullptr, *context,
                    {.training = trains ? batch : 0, .testing = tests ? batch : 0}));
  out << "**** " << graph.name() << " model...\n" << FormatTable(graph, dtype, Device::Cpu());
  if (!options.dataset.empty() && !model.sample) {
    out << "**** The files of --dataset=" << options.dataset
        << " say how large samples are; these are the network's own\n";
  }
  out << absl::StrFormat("**** One sample: %d multiply-adds forward\n", graph.multiply_adds());
  out << absl::StrFormat("**** Memory for %s batches of %s:\n", trains ? "training on" : "testing",
                         Counted(batch, "sample"));
  out << FormatMemory(graph, dtype, trains ? *memory.training : *memory.testing,
                      trains ? optimizer.get() : nullptr);
  if (trains && tests) {
    out << "**** And for testing or validating on such batches:\n"
        << FormatPlanMemory(*memory.testing);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
