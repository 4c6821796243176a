#include "models/run/prepare/run_needs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "kernels/device/context.h"
#include "kernels/device/math_mode.h"
#include "models/graph/table.h"
#include "models/run/checks/option_warnings.h"
#include "models/run/parts/class_weights.h"
#include "models/run/parts/make_encryption.h"
#include "models/run/parts/make_model.h"
#include "models/run/parts/make_trainer_options.h"
#include "models/run/parts/make_training.h"
#include "models/run/parts/model_file.h"
#include "models/run/prepare/prepare_steps.h"
#include "models/run/prepare/prepared_run.h"
#include "models/run/samples/make_dataset.h"
#include "models/run/tables/memory_table.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Which kinds of batches a run has.
struct Kinds {
  explicit Kinds(const RunOptions& options)
      : trains(!options.training.evaluate_only),
        validates(trains && (options.data.test_as_validation || options.data.validation_split > 0)),
        tests(!trains || options.training.evaluate) {}

  const bool trains, validates, tests;
};

std::optional<DatasetSize> SizeOfData(const PreparedRun& run) {
  if (run.dataset == nullptr) return KnownSize(run.options, SampleOf(run.initial_model));
  return DatasetSize{.sample = run.dataset->sample(), .outputs = run.dataset->outputs()};
}

// The network that the run would have, for samples of `data`.
absl::StatusOr<Graph> MakeGraph(const PreparedRun& run, const std::optional<DatasetSize>& data,
                                const Loss& loss) {
  const RunOptions& options = run.options;
  if (run.initial_model) {
    const bool known = data && data->outputs > 0;
    DTNN_ASSIGN_OR_RETURN(Graph graph,
                          NetworkFor(*run.initial_model, options, known ? data : std::nullopt));
    return FreezeLayers(options, std::move(graph));
  }
  if (!run.objects.network) return MakeModel(options, data, loss);
  DTNN_ASSIGN_OR_RETURN(Graph graph, run.objects.network->Build(FormatOf(options), loss));
  return FreezeLayers(options, std::move(graph));
}

// What several ranks share and exchange.
std::string DescribeRanks(const RunNeeds& needs) {
  const RunOptions& options = needs.options;
  std::string text =
      absl::StrFormat("**** %s, %s per rank and step, %d in all\n", Counted(needs.ranks, "rank"),
                      Counted(needs.batch, "sample"), needs.batch * needs.ranks);
  const int64_t elements = needs.graph.num_trainable_parameters();
  if (needs.optimizer == nullptr || options.sync.model_steps.exchanges_nothing() || elements == 0) {
    return text;
  }
  const GradientReducerOptions reducer = ReducerOptionsOf(options);
  const int64_t steps = options.sync.model_steps.number();
  const std::string often = steps > 1 ? absl::StrFormat("every %d steps", steps) : "every step";
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
  // A size that is measured is not known yet.
  const std::string pieces =
      BucketBytes(options).value_or(0) == 0
          ? "all-reduces"
          : Counted(
                int64_t(GradientReducer::Cut(ElementTypeOf(options), elements, reducer.bucket_bytes)
                            .size()),
                "all-reduce");
  return text + absl::StrFormat("**** Gradients, %s: %s per rank, in %s %s the backward pass\n",
                                often, bytes, pieces, reducer.blocking ? "after" : "during");
}

}  // namespace

absl::StatusOr<RunNeeds> FindNeeds(const RunOptions& given, const RunObjects& objects, int ranks) {
  PreparedRun run(given, objects);
  const bool own_schedulers = !objects.schedulers.empty();
  DTNN_RETURN_IF_ERROR(CheckStart(run.options, objects, ranks));
  ranks = std::max(ranks, 1);
  DTNN_RETURN_IF_ERROR(FindModel(run));
  const RunOptions& options = run.options;
  const Kinds kinds(options);
  RunNeeds needs = {.ranks = ranks, .warnings = OptionWarnings(options, own_schedulers)};
  if (kinds.trains) {
    needs.optimizer = objects.optimizer;
    if (needs.optimizer == nullptr) {
      DTNN_ASSIGN_OR_RETURN(needs.optimizer, MakeOptimizer(options));
    }
  }
  DTNN_ASSIGN_OR_RETURN(needs.batch, BatchSizePerRank(options, ranks));
  needs.data = SizeOfData(run);
  if (kinds.trains) {
    DTNN_RETURN_IF_ERROR(
        CheckClassWeights(options, options.data.name, needs.data ? needs.data->outputs : 0));
  }
  DTNN_ASSIGN_OR_RETURN(
      const MetricSet metric_set,
      MakeMetricSet(options, objects.loss, {objects.metrics.begin(), objects.metrics.end()}));
  DTNN_ASSIGN_OR_RETURN(needs.graph, MakeGraph(run, needs.data, *metric_set.loss));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<DeviceContext> context,
                        DeviceContext::Create(Device::Cpu()));
  // All types of 16 bits take as much memory.
  if (IsHalf(ActivationType(options.device.math_mode, DType::kFloat32))) {
    DTNN_RETURN_IF_ERROR(context->SetMathMode(MathMode::kBf16));
  }
  const int loaders = int(kinds.trains) + int(kinds.validates) + int(kinds.tests);
  DTNN_ASSIGN_OR_RETURN(
      needs.memory,
      MeasureMemory(options, needs.graph, *metric_set.loss, needs.optimizer.get(), *context,
                    {.training = kinds.trains ? needs.batch : 0,
                     .testing = kinds.validates || kinds.tests ? needs.batch : 0,
                     .ahead = SamplesAhead(needs.batch) * loaders},
                    ranks));
  needs.options = options;
  return needs;
}

std::string Describe(const RunNeeds& needs) {
  const RunOptions& options = needs.options;
  const DType dtype = ElementTypeOf(options);
  const Graph& graph = needs.graph;
  const RunMemory& memory = needs.memory;
  const bool trains = memory.training.has_value();
  std::string text =
      StrCat("**** ", graph.name(), " model...\n", FormatTable(graph, dtype, Device::Cpu()));
  if (!options.data.name.empty() && (!needs.data || needs.data->outputs == 0)) {
    const bool sample = needs.data.has_value();
    StrAppend(&text, "**** The ", sample ? "number of classes" : "size of the samples",
              " of RunOptions::data.name=", options.data.name, " depends on its files; ",
              sample ? "this is" : "these are", " the network's own ", sample ? "number" : "sizes",
              "\n");
  }
  absl::StrAppendFormat(&text, "**** One sample: %d multiply-adds forward\n",
                        graph.multiply_adds());
  if (needs.ranks > 1) text += DescribeRanks(needs);
  absl::StrAppendFormat(&text, "**** Memory for %s batches of %s%s:\n",
                        trains ? "training on" : "testing", Counted(needs.batch, "sample"),
                        needs.ranks > 1 ? ", of each rank" : "");
  text += FormatMemory(graph, dtype, trains ? *memory.training : *memory.testing,
                       needs.optimizer.get());
  if (trains && memory.testing) {
    StrAppend(&text, "**** In addition, for testing or validating on such batches:\n",
              FormatPlanMemory(*memory.testing));
  }
  return text + "**** Besides, apart from the data themselves:\n" +
         FormatOtherMemory(memory.others, memory.all());
}

}  // namespace dtnn
