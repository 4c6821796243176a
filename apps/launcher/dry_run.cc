#include "apps/launcher/dry_run.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "kernels/device/context.h"
#include "kernels/device/math_mode.h"
#include "models/graph/table.h"
#include "models/run/parts/class_weights.h"
#include "models/run/parts/make_encryption.h"
#include "models/run/parts/make_model.h"
#include "models/run/parts/make_trainer_options.h"
#include "models/run/parts/make_training.h"
#include "models/run/parts/model_file.h"
#include "models/run/prepare/run_memory.h"
#include "models/run/samples/make_dataset.h"
#include "models/run/tables/memory_table.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

// What several ranks share and exchange.
std::string DescribeRanks(const Options& options, int ranks, int64_t batch, const Graph& graph) {
  std::string text =
      absl::StrFormat("**** %s, %s per rank and step, %d in all\n", Counted(ranks, "rank"),
                      Counted(batch, "sample"), batch * ranks);
  const int64_t elements = graph.num_trainable_parameters();
  if (options.training.evaluate_only || options.sync.model_steps.exchanges_nothing() ||
      elements == 0)
    return text;
  const DType dtype = ElementTypeOf(options);
  const GradientReducerOptions reducer = ReducerOptionsOf(options);
  const std::string often =
      options.sync.model_steps.number() > 1
          ? absl::StrFormat("every %d steps", options.sync.model_steps.number())
          : "every step";
  // A size that is measured is not known yet.
  const std::string pieces =
      BucketBytes(options).value_or(0) == 0
          ? "all-reduces"
          : Counted(int64_t(GradientReducer::Cut(dtype, elements, reducer.bucket_bytes).size()),
                    "all-reduce");
  const std::string bytes = FormatBytes(ExchangedBytes(options, double(elements)));
  if (options.optimizer.name == "oktopk") {
    return text + absl::StrFormat(
                      "**** Gradients, every step: about %s per rank, in a sparse sum after the "
                      "backward pass\n",
                      bytes);
  }
  if (EncryptsSums(options)) {
    return text +
           absl::StrFormat("**** Gradients, %s: %s per rank, encrypted, after the backward pass\n",
                           often, bytes);
  }
  absl::StrAppendFormat(&text, "**** Gradients, %s: %s per rank, in %s %s the backward pass\n",
                        often, bytes, pieces, reducer.blocking ? "after" : "during");
  return text;
}

// The network that the run would have, for samples of `data`: --model's, or that of the file that
// the run begins with.
absl::StatusOr<Graph> MakeGraph(const Options& options,
                                const std::optional<SavedModel>& initial_model,
                                const std::optional<DatasetSize>& data, const Loss& loss) {
  if (initial_model) {
    const bool known = data && data->outputs > 0;
    DTNN_ASSIGN_OR_RETURN(Graph graph,
                          NetworkFor(*initial_model, options, known ? data : std::nullopt));
    return FreezeLayers(options, std::move(graph));
  }
  return MakeModel(options, data, loss);
}

}  // namespace

absl::Status DryRun(const Options& given, int ranks, std::ostream& out) {
  Options options = given;
  std::optional<SavedModel> initial_model;
  if (options.network.name.empty()) {
    DTNN_ASSIGN_OR_RETURN(initial_model, ReadModelToRun(options.network.weights));
    DTNN_RETURN_IF_ERROR(FollowModel(*initial_model, options));
  }
  const DType dtype = ElementTypeOf(options);
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<DeviceContext> context,
                        DeviceContext::Create(Device::Cpu()));
  // All types of 16 bits take as much memory.
  if (IsHalf(ActivationType(options.device.math_mode, DType::kFloat32))) {
    DTNN_RETURN_IF_ERROR(context->SetMathMode(MathMode::kBf16));
  }
  DTNN_ASSIGN_OR_RETURN(const MetricSet metric_set, MakeMetricSet(options));
  DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<const Optimizer> optimizer, MakeOptimizer(options));
  DTNN_ASSIGN_OR_RETURN(const int64_t batch, BatchSizePerRank(options, ranks));
  const std::optional<DatasetSize> data = KnownSize(options, SampleOf(initial_model));
  if (!options.training.evaluate_only) {
    DTNN_RETURN_IF_ERROR(CheckClassWeights(options, options.data.name, data ? data->outputs : 0));
  }
  DTNN_ASSIGN_OR_RETURN(const Graph graph,
                        MakeGraph(options, initial_model, data, *metric_set.loss));
  const bool trains = !options.training.evaluate_only;
  const bool tests = !trains || options.training.evaluate || options.data.test_as_validation ||
                     options.data.validation_split > 0;
  const bool validates =
      trains && (options.data.test_as_validation || options.data.validation_split > 0);
  const int loaders = int(trains) + int(validates) + int(!trains || options.training.evaluate);
  DTNN_ASSIGN_OR_RETURN(
      const RunMemory memory,
      MeasureMemory(options, graph, *metric_set.loss, trains ? optimizer.get() : nullptr, *context,
                    {.training = trains ? batch : 0,
                     .testing = tests ? batch : 0,
                     .ahead = SamplesAhead(batch) * loaders},
                    ranks));
  out << "**** " << graph.name() << " model...\n" << FormatTable(graph, dtype, Device::Cpu());
  if (!options.data.name.empty() && (!data || data->outputs == 0)) {
    out << "**** The " << (data ? "number of classes" : "size of the samples")
        << " of --dataset=" << options.data.name << " depends on its files; "
        << (data ? "this is" : "these are") << " the network's own " << (data ? "number" : "sizes")
        << "\n";
  }
  out << absl::StrFormat("**** One sample: %d multiply-adds forward\n", graph.multiply_adds());
  if (ranks > 1) out << DescribeRanks(options, ranks, batch, graph);
  out << absl::StrFormat("**** Memory for %s batches of %s%s:\n",
                         trains ? "training on" : "testing", Counted(batch, "sample"),
                         ranks > 1 ? ", of each rank" : "");
  out << FormatMemory(graph, dtype, trains ? *memory.training : *memory.testing,
                      trains ? optimizer.get() : nullptr);
  if (trains && tests) {
    out << "**** In addition, for testing or validating on such batches:\n"
        << FormatPlanMemory(*memory.testing);
  }
  out << "**** Besides, apart from the data themselves:\n"
      << FormatOtherMemory(memory.others, memory.all());
  return absl::OkStatus();
}

}  // namespace dtnn
